/* The writer over a store with an engine of the test, which counts rows. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include <zstd.h>

#include "cluster-agent/store/store_engine.h"
#include "cluster-agent/store/store_writer.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define POISON UINT64_C(666)
#define N_THREADS 4
#define N_PER_THREAD 100

/* What was inserted. While a writer runs, only its thread touches this. */
static struct {
	uint64_t n_rows[STORE_TABLE_MAX];
	unsigned n_inserts;
	int fail_table; /* whose inserts fail; -1: none */
	bool unavailable;
} stored;

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint n_stored, n_failed;

/* Rows of this test are a hash each; one of them is refused. */
static int insert(struct store *s, enum store_table table, const char *token,
		  const struct store_frame *frames, size_t n_frames, struct err *err)
{
	AUTO_FREE uint64_t *hashes = malloc(frames[0].n_bytes);
	size_t n = frames[0].n_bytes / sizeof(uint64_t);

	(void)s;
	assert_non_null(hashes);
	assert_int_equal(n_frames, 1);
	assert_int_equal(ZSTD_decompress(hashes, frames[0].n_bytes, frames[0].data, frames[0].len),
			 frames[0].n_bytes);
	assert_int_equal(strlen(token), 32);
	pthread_mutex_lock(&store_lock);
	pthread_mutex_unlock(&store_lock);
	stored.n_inserts++;
	for (size_t i = 0; i < n; i++) {
		if (hashes[i] == POISON)
			return err_set(err, -EREMOTEIO, "Code: 117. DB::Exception: poison");
	}
	if (stored.unavailable)
		return err_set(err, -EAGAIN, "cannot be reached");
	if ((int)table == stored.fail_table)
		return err_set(err, -EREMOTEIO, "Code: 243. DB::Exception: disk full");
	stored.n_rows[table] += n;
	return 0;
}

static const struct store_engine engine = {.insert = insert};
static struct store store = {&engine};

static void count_result(void *ctx, int result)
{
	(void)ctx;
	atomic_fetch_add(result == 0 ? &n_stored : &n_failed, 1);
}

static int reset(void **state)
{
	(void)state;
	memset(&stored, 0, sizeof(stored));
	stored.fail_table = -1;
	atomic_store(&n_stored, 0);
	atomic_store(&n_failed, 0);
	return 0;
}

/* Submits one row per table; the stack's hash identifies the upload. */
static void submit(struct store_writer *w, uint64_t hash)
{
	CLEANUP(row_batch_fini) struct row_batch b;

	row_batch_init(&b, 1000);
	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		uint64_t v = t == STORE_STACKS ? hash : 1;

		assert_int_equal(buf_add(&b.rows[t], &v, sizeof(v)), 0);
		b.n_rows[t] = 1;
	}
	assert_int_equal(
		store_writer_submit(w, (struct upload_id){hash, 0}, &b, count_result, NULL), 0);
	assert_int_equal(row_batch_bytes(&b), 0);
}

static struct store_writer *start(uint64_t max_delay_ns)
{
	const struct store_writer_config cfg = {.store = &store,
						.max_delay_ns = max_delay_ns,
						.max_queued = N_THREADS * N_PER_THREAD};
	struct store_writer *w = NULL;

	assert_int_equal(store_writer_new(&w, &cfg), 0);
	return w;
}

static void assert_rows(uint64_t stacks, uint64_t samples, uint64_t quality)
{
	assert_int_equal(stored.n_rows[STORE_STACKS], stacks);
	assert_int_equal(stored.n_rows[STORE_SAMPLES], samples);
	assert_int_equal(stored.n_rows[STORE_QUALITY], quality);
}

static void assert_answers(unsigned n_ok, unsigned n_bad)
{
	assert_int_equal(atomic_load(&n_stored), n_ok);
	assert_int_equal(atomic_load(&n_failed), n_bad);
}

/* Frees the writer, which waits for all answers. */
static void submit_and_finish(const uint64_t *hashes, size_t n)
{
	/* so long that the group is only closed by freeing the writer */
	CLEANUP(store_writer_freep) struct store_writer *w = start(3600 * NS_PER_S);

	for (size_t i = 0; i < n; i++)
		submit(w, hashes[i]);
}

static void uploads_that_come_together_are_one_insert_per_table(void **state)
{
	static const uint64_t hashes[] = {1, 2, 3, 4, 5};

	(void)state;
	submit_and_finish(hashes, 5);
	assert_rows(5, 5, 5);
	assert_answers(5, 0);
	assert_int_equal(stored.n_inserts, 3);
}

static void a_poisoned_upload_fails_alone(void **state)
{
	static const uint64_t hashes[] = {1, 2, POISON, 4};

	(void)state;
	submit_and_finish(hashes, 4);
	assert_rows(3, 3, 3);
	assert_answers(3, 1);
}

static void a_store_that_cannot_be_reached_is_asked_once_per_group(void **state)
{
	static const uint64_t hashes[] = {1, 2, 3, 4, 5};

	(void)state;
	stored.unavailable = true;
	submit_and_finish(hashes, 5);
	assert_rows(0, 0, 0);
	assert_answers(0, 5);
	assert_int_equal(stored.n_inserts, 1);
}

static void a_repeated_upload_is_answered_but_not_stored(void **state)
{
	static const uint64_t hashes[] = {1, 1, 2, 1};

	(void)state;
	submit_and_finish(hashes, 4);
	assert_rows(2, 2, 2);
	assert_answers(4, 0);
}

static void wait_for_answers(unsigned n)
{
	while (atomic_load(&n_stored) + atomic_load(&n_failed) < n)
		usleep(1000);
}

static void a_retry_writes_only_what_is_missing(void **state)
{
	CLEANUP(store_writer_freep) struct store_writer *w = NULL;

	(void)state;
	stored.fail_table = STORE_QUALITY;
	w = start(50 * NS_PER_MS);
	submit(w, 1);
	submit(w, 2);
	wait_for_answers(2);
	/* no insert is under way: both were answered and nothing else is queued */
	stored.fail_table = -1;
	submit(w, 1);
	submit(w, 2);
	wait_for_answers(4);
	assert_answers(2, 2);
	store_writer_free(TAKE_PTR(w));
	assert_rows(2, 2, 2);
}

static void a_full_queue_refuses_and_leaves_the_batch_to_its_owner(void **state)
{
	const struct store_writer_config cfg = {
		.store = &store, .max_queued = 1, .max_delay_ns = NS_PER_S};
	CLEANUP(store_writer_freep) struct store_writer *w = NULL;
	CLEANUP(row_batch_fini) struct row_batch b;
	unsigned n_accepted = 0, n_tries = 0;
	int r;

	(void)state;
	assert_int_equal(store_writer_new(&w, &cfg), 0);
	row_batch_init(&b, 1000);
	do {
		uint64_t v = n_tries;

		if (b.rows[0].len == 0)
			assert_int_equal(buf_add(&b.rows[0], &v, sizeof(v)), 0);
		r = store_writer_submit(w, (struct upload_id){v, 1}, &b, count_result, NULL);
		n_accepted += r == 0;
	} while (r == 0 && n_tries++ < 1000000);
	assert_int_equal(r, -EAGAIN);
	assert_int_equal(row_batch_bytes(&b), 8);
	store_writer_free(TAKE_PTR(w));
	assert_answers(n_accepted, 0);
}

/* Submits one row of n_bytes in the table of stacks; returns what the writer does. */
static int submit_bytes(struct store_writer *w, uint64_t hash, size_t n_bytes)
{
	CLEANUP(row_batch_fini) struct row_batch b;
	AUTO_FREE char *row = calloc(1, n_bytes);
	int r;

	assert_non_null(row);
	row_batch_init(&b, n_bytes);
	assert_int_equal(buf_add(&b.rows[STORE_STACKS], row, n_bytes), 0);
	r = store_writer_submit(w, (struct upload_id){hash, 0}, &b, count_result, NULL);
	assert_int_equal(row_batch_bytes(&b), r == 0 ? 0 : n_bytes);
	return r;
}

/* The bound is on bytes too, as a few KiB of upload can become as many MiB of rows. */
static void uploads_that_wait_are_bounded_by_their_bytes(void **state)
{
	const struct store_writer_config cfg = {
		.store = &store, .max_delay_ns = NS_PER_MS, .max_queued_bytes = 8000};
	CLEANUP(store_writer_freep) struct store_writer *w = NULL;

	(void)state;
	assert_int_equal(store_writer_new(&w, &cfg), 0);
	/* blocks store_insert() */
	pthread_mutex_lock(&store_lock);
	assert_int_equal(submit_bytes(w, 1, 4000), 0);
	assert_int_equal(submit_bytes(w, 2, 4008), -EAGAIN);
	assert_int_equal(submit_bytes(w, 3, 4000), 0);
	assert_int_equal(submit_bytes(w, 4, 8), -EAGAIN);
	pthread_mutex_unlock(&store_lock);
	wait_for_answers(2);
	assert_answers(2, 0);
	/* a single upload is never too large; bytes are released before an upload is answered */
	assert_int_equal(submit_bytes(w, 5, 80000), 0);
	store_writer_free(TAKE_PTR(w));
	assert_answers(3, 0);
}

struct sender {
	struct store_writer *writer;
	uint64_t first;
};

static void *send_many(void *arg)
{
	const struct sender *s = arg;

	for (uint64_t i = 0; i < N_PER_THREAD; i++)
		submit(s->writer, s->first + i);
	return NULL;
}

static void takes_uploads_from_many_threads(void **state)
{
	CLEANUP(store_writer_freep) struct store_writer *w = start(50 * NS_PER_MS);
	pthread_t threads[N_THREADS];
	struct sender senders[N_THREADS];

	(void)state;
	for (size_t i = 0; i < N_THREADS; i++) {
		senders[i] = (struct sender){w, 1000 * (i + 1)};
		assert_int_equal(pthread_create(&threads[i], NULL, send_many, &senders[i]), 0);
	}
	for (size_t i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	store_writer_free(TAKE_PTR(w));
	assert_answers(N_THREADS * N_PER_THREAD, 0);
	assert_rows(N_THREADS * N_PER_THREAD, N_THREADS * N_PER_THREAD, N_THREADS * N_PER_THREAD);
}

static int make_one(void *arg)
{
	const struct store_writer_config cfg = {0};
	CLEANUP(store_writer_freep) struct store_writer *w = NULL;

	(void)arg;
	return store_writer_new(&w, &cfg);
}

static void survives_every_failed_allocation(void **state)
{
	(void)state;
	check_oom(make_one, NULL);
}

#define TEST(f) cmocka_unit_test_setup(f, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(uploads_that_come_together_are_one_insert_per_table),
		TEST(a_poisoned_upload_fails_alone),
		TEST(a_store_that_cannot_be_reached_is_asked_once_per_group),
		TEST(a_repeated_upload_is_answered_but_not_stored),
		TEST(a_retry_writes_only_what_is_missing),
		TEST(a_full_queue_refuses_and_leaves_the_batch_to_its_owner),
		TEST(uploads_that_wait_are_bounded_by_their_bytes),
		TEST(takes_uploads_from_many_threads),
		TEST(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
