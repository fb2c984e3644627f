/* The drain over a real log in a directory of its own and a store that fails as it is told to. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>

#include "cluster-agent/store/row_batch.h"
#include "cluster-agent/wal/log_drain.h"
#include "common/system/clock.h"
#include "common/telemetry/metrics.h"
#include "test/lib/faulty_store.h"
#include "test/lib/unit.h"

#define POISON FAULTY_STORE_POISON
#define DAY_NS ((int64_t)(86400 * NS_PER_S))
/* far from midnight */
#define NOON_NS (INT64_C(20000) * DAY_NS + DAY_NS / 2)
#define T(s) ((struct row_text){s, sizeof(s) - 1})

static const char *dir;

/* ---- the log ---- */

static int make_dir(void **state)
{
	(void)state;
	faulty_store_reset();
	dir = temp_dir();
	return 0;
}

static struct upload_log *open_log(void)
{
	struct err err = {""};
	struct upload_log *l = NULL;

	if (upload_log_open(&l, &(struct upload_log_config){.dir = dir}, &err) < 0)
		fail_msg("%s", err.msg);
	return l;
}

struct upload {
	uint64_t n;
	int64_t start_ns;
	int result;
	bool done;
	pthread_mutex_t lock;
};

static void on_done(void *ctx, int result)
{
	struct upload *u = ctx;

	pthread_mutex_lock(&u->lock);
	u->result = result;
	u->done = true;
	pthread_mutex_unlock(&u->lock);
}

static void add_rows(struct row_batch *b, uint64_t n, int64_t start_ns)
{
	const struct stack_row stack = {T("/svc"), n, start_ns, NULL, 0};
	const struct sample_row sample = {T("/svc"), T("t"), start_ns, start_ns + 1, NULL, 0, n, 1};
	const struct quality_row quality = {
		T("/svc"), T("t"), start_ns, start_ns + 1, T("h"), 1, 0, 1, NULL, 0, 1, n};

	assert_int_equal(row_batch_add_stack(b, &stack), 0);
	assert_int_equal(row_batch_add_sample(b, &sample), 0);
	assert_int_equal(row_batch_add_quality(b, &quality), 0);
	assert_int_equal(row_batch_finish(b), 0);
}

/* Appends an upload with a row in each table, and waits until it is durable. */
static void append_as(struct upload_log *l, uint64_t n, int64_t start_ns, bool is_repeat)
{
	CLEANUP(row_batch_fini) struct row_batch b;
	struct logged_frames frames[STORE_TABLE_MAX];
	struct upload u = {.n = n, .lock = PTHREAD_MUTEX_INITIALIZER};
	bool done = false;

	row_batch_init(&b, 10000, 10000);
	add_rows(&b, n, start_ns);
	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		size_t n_frames;

		frames[t].table = (enum store_table)t;
		frames[t].frame = row_batch_frames(&b, (enum store_table)t, &n_frames)[0];
	}
	assert_int_equal((is_repeat ? upload_log_append_repeat : upload_log_append)(
				 l, (struct upload_id){n, 0}, frames, STORE_TABLE_MAX, on_done, &u),
			 0);
	while (!done) {
		usleep(1000);
		pthread_mutex_lock(&u.lock);
		done = u.done;
		pthread_mutex_unlock(&u.lock);
	}
	assert_int_equal(u.result, 0);
}

static void append_at(struct upload_log *l, uint64_t n, int64_t start_ns)
{
	append_as(l, n, start_ns, false);
}

static void append(struct upload_log *l, uint64_t n)
{
	append_at(l, n, NOON_NS);
}

static unsigned n_refusals;
static uint64_t claim_wait_ns; /* 0: long beyond any test */

static void on_refused(void *ctx)
{
	(void)ctx;
	n_refusals++;
}

static struct log_drain *start(struct upload_log *l)
{
	struct log_drain *d = NULL;

	/* the last drain may have stopped it */
	faulty.stopped = false;
	assert_int_equal(log_drain_new(&d,
				       &(struct log_drain_config){
					       .log = l,
					       .store = &faulty_store,
					       .pace_ns = 1,
					       .retry_min_ns = NS_PER_MS,
					       .retry_max_ns = 2 * NS_PER_MS,
					       .claim_wait_ns = claim_wait_ns,
					       .refused = on_refused,
				       }),
			 0);
	return d;
}

static uint64_t bytes_of(struct upload_log *l)
{
	struct upload_log_state s;

	upload_log_state(l, &s);
	return s.n_bytes;
}

static void settle(struct upload_log *l)
{
	eventually(bytes_of(l) == 0);
}

/* What is in the log is a segment that an earlier process left. */
static struct upload_log *reopen(struct upload_log *l)
{
	upload_log_close(l);
	return open_log();
}

/* Each upload of first … first + n - 1 is there once. */
static void assert_once(uint64_t first, size_t n)
{
	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		for (uint64_t i = first; i < first + n; i++)
			assert_int_equal(faulty_store_count((enum store_table)t, i), 1);
	}
}

/* ---- tests ---- */

TEST_FIXTURE(what_is_in_the_log_is_one_insert_per_table, make_dir, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	for (uint64_t n = 1; n <= 10; n++)
		append(l, n);
	d = start(l);
	settle(l);
	assert_once(1, 10);
	assert_int_equal(faulty.n_inserts, 3);
	/* and what comes later is inserted, too */
	append(l, 11);
	settle(l);
	assert_once(1, 11);
}

TEST_FIXTURE(a_store_that_is_away_is_waited_for, make_dir, NULL)
{
	static const int errors[] = {-EAGAIN, -EIO, -ENOMEM, -EINVAL};
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	d = start(l);
	for (uint64_t i = 0; i < ARRAY_SIZE(errors); i++) {
		struct log_drain_state s;
		unsigned n = 0;

		pthread_mutex_lock(&faulty.lock);
		faulty.error = errors[i];
		faulty.n_inserts = 0;
		pthread_mutex_unlock(&faulty.lock);
		append(l, i);
		while (n < 5) {
			usleep(1000);
			pthread_mutex_lock(&faulty.lock);
			n = faulty.n_inserts;
			pthread_mutex_unlock(&faulty.lock);
		}
		log_drain_state(d, &s);
		assert_true(s.failing);
		assert_non_null(strstr(s.error.msg, strerror(-errors[i])));
		assert_true(bytes_of(l) > 0);
		pthread_mutex_lock(&faulty.lock);
		faulty.error = 0;
		pthread_mutex_unlock(&faulty.lock);
		settle(l);
		log_drain_state(d, &s);
		assert_false(s.failing);
	}
	assert_once(0, ARRAY_SIZE(errors));
	assert_int_equal(n_refusals, 0);
}

TEST_FIXTURE(a_refused_upload_is_put_aside_alone, make_dir, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	for (uint64_t n = 1; n <= 10; n++)
		append(l, n == 4 ? POISON : n);
	n_refusals = 0;
	d = start(l);
	settle(l);
	log_drain_free(TAKE_PTR(d));
	assert_once(1, 3);
	assert_once(5, 6);
	for (int t = 0; t < STORE_TABLE_MAX; t++)
		assert_int_equal(faulty_store_count((enum store_table)t, POISON), 0);
	assert_int_equal(n_refusals, 1);
	/* it is known all the same: its sender must not send it for ever */
	assert_true(upload_log_has(l, (struct upload_id){POISON, 0}));
}

TEST_FIXTURE(an_insert_that_needs_too_much_memory_is_divided, make_dir, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	faulty.max_frames = 3;
	for (uint64_t n = 1; n <= 20; n++)
		append(l, n);
	d = start(l);
	settle(l);
	assert_once(1, 20);
}

/* The insert was made and its answer lost, and what the token says is right. */
TEST_FIXTURE(a_lost_answer_does_not_double_rows, make_dir, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	d = start(l);
	for (int t = STORE_SAMPLES; t < STORE_TABLE_MAX; t++) {
		pthread_mutex_lock(&faulty.lock);
		faulty.lose = t;
		pthread_mutex_unlock(&faulty.lock);
		append(l, (uint64_t)t);
		settle(l);
	}
	assert_once(STORE_SAMPLES, 2);
}

/* Stacks may be there twice, as their table drops duplicates. */
TEST_FIXTURE(a_lost_answer_about_stacks_adds_them_without_a_token, make_dir, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	faulty.lose = STORE_STACKS;
	append(l, 1);
	d = start(l);
	settle(l);
	assert_int_equal(faulty_store_count(STORE_STACKS, 1), 2);
	assert_int_equal(faulty_store_count(STORE_SAMPLES, 1), 1);
	assert_int_equal(faulty.n_fresh_tokens, 1);
}

/* What a kill leaves: store.h. */
TEST_FIXTURE(a_token_without_its_rows_loses_nothing, make_dir, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	d = start(l);
	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		pthread_mutex_lock(&faulty.lock);
		faulty.forget = t;
		pthread_mutex_unlock(&faulty.lock);
		append(l, (uint64_t)t);
		settle(l);
	}
	assert_once(0, STORE_TABLE_MAX);
}

TEST_FIXTURE(a_replicated_table_is_not_asked, make_dir, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	faulty.exact = true;
	d = start(l);
	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		pthread_mutex_lock(&faulty.lock);
		faulty.lose = t;
		pthread_mutex_unlock(&faulty.lock);
		append(l, (uint64_t)t);
		settle(l);
	}
	assert_once(0, STORE_TABLE_MAX);
	assert_int_equal(faulty.n_fresh_tokens, 0);
}

static bool is_pending(int table)
{
	bool is;

	pthread_mutex_lock(&faulty.lock);
	is = faulty.lose == table;
	pthread_mutex_unlock(&faulty.lock);
	return is;
}

/* Stops the first drain after each of its inserts in turn. */
TEST_FIXTURE(a_segment_of_an_earlier_process_is_inserted_once, make_dir, NULL)
{
	struct upload_log *l = open_log();

	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		uint64_t first = 100 * ((uint64_t)t + 1);
		struct log_drain *d;

		for (uint64_t n = first; n < first + 10; n++)
			append(l, n);
		/* the insert is made; the drain does not learn of it, and is stopped */
		faulty.lose = t;
		d = start(l);
		eventually(!is_pending(t));
		log_drain_free(d);
		l = reopen(l);
		d = start(l);
		settle(l);
		log_drain_free(d);
		for (uint64_t n = first; n < first + 10; n++) {
			assert_true(faulty_store_count(STORE_STACKS, n) >= 1);
			assert_int_equal(faulty_store_count(STORE_SAMPLES, n), 1);
			assert_int_equal(faulty_store_count(STORE_QUALITY, n), 1);
		}
	}
	upload_log_close(l);
}

/* Begins to insert what is in the log, and is killed after the first insert of samples. */
static void die_amid(struct upload_log *l, enum store_table table)
{
	struct log_drain *d;
	int error = 0;

	faulty.die = (int)table;
	d = start(l);
	while (error == 0) {
		usleep(1000);
		pthread_mutex_lock(&faulty.lock);
		error = faulty.error;
		pthread_mutex_unlock(&faulty.lock);
	}
	log_drain_free(d);
	upload_log_close(l);
	faulty.error = 0;
}

static void recover_and_check(uint64_t first, size_t n)
{
	struct upload_log *l = open_log();
	struct log_drain *d = start(l);

	settle(l);
	log_drain_free(d);
	upload_log_close(l);
	for (uint64_t i = first; i < first + n; i++) {
		assert_true(faulty_store_count(STORE_STACKS, i) >= 1);
		assert_int_equal(faulty_store_count(STORE_SAMPLES, i), 1);
		assert_int_equal(faulty_store_count(STORE_QUALITY, i), 1);
	}
}

TEST_FIXTURE(a_piece_that_was_divided_before_a_kill_is_inserted_once, make_dir, NULL)
{
	for (int exact = 0; exact < 2; exact++) {
		uint64_t first = exact ? 101 : 1;
		struct upload_log *l = open_log();

		faulty.exact = exact;
		faulty.max_frames = 3;
		for (uint64_t n = first; n < first + 20; n++)
			append(l, n);
		die_amid(l, STORE_SAMPLES);
		assert_int_equal(faulty_store_count(STORE_SAMPLES, first), 1);
		assert_int_equal(faulty_store_count(STORE_SAMPLES, first + 19), 0);
		/* there is memory again */
		faulty.max_frames = 0;
		recover_and_check(first, 20);
	}
}

/* Makes the first record of the only segment unreadable. */
static void damage_first_record(void)
{
	CLEANUP(globfree) glob_t found = {0};
	char pattern[80];
	uint8_t byte;
	AUTO_CLOSE int fd = -1;

	snprintf(pattern, sizeof(pattern), "%s/*.segment", dir);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &byte, 1, 120), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, 120), 1);
}

/* Pieces of what is left are others; some have tokens that pieces of the whole had. */
TEST_FIXTURE(damage_between_an_insert_and_a_restart_costs_one_upload, make_dir, NULL)
{
	for (int i = 0; i < 4; i++) {
		bool one_day = i / 2 == 0;
		uint64_t first = 100 * (uint64_t)i;
		struct upload_log *l = open_log();

		faulty.exact = i % 2;
		faulty.max_frames = one_day ? 4 : 0;
		for (uint64_t n = first; n < first + 10; n++)
			append_at(l, n, NOON_NS + (one_day ? 0 : (int64_t)(n - first) * DAY_NS));
		die_amid(l, STORE_SAMPLES);
		damage_first_record();
		n_refusals = 0;
		faulty.max_frames = 0;
		recover_and_check(first + 1, 9);
		assert_int_equal(n_refusals, 1);
		assert_int_equal(faulty_store_count(STORE_QUALITY, first), 0);
	}
}

/* Otherwise all that comes after them would wait behind them. */
TEST_FIXTURE(rows_that_the_store_does_not_keep_are_given_up, make_dir, NULL)
{
	struct upload_log *l = open_log();
	struct log_drain *d;

	append(l, 1);
	l = reopen(l);
	faulty.drops = true;
	d = start(l);
	settle(l);
	pthread_mutex_lock(&faulty.lock);
	faulty.drops = false;
	pthread_mutex_unlock(&faulty.lock);
	append(l, 2);
	settle(l);
	log_drain_free(d);
	assert_once(2, 1);
	upload_log_close(l);
}

TEST_FIXTURE(what_another_receiver_has_stored_is_left_out_after_a_restart, make_dir, NULL)
{
	struct upload_log *l = open_log();
	struct log_drain *d;

	for (uint64_t n = 1; n <= 3; n++)
		append(l, n);
	for (int t = 0; t < STORE_TABLE_MAX; t++)
		faulty.rows[t][faulty.n_rows[t]++] = 2;
	l = reopen(l);
	d = start(l);
	settle(l);
	log_drain_free(d);
	assert_once(1, 3);
	upload_log_close(l);
}

TEST_FIXTURE(stopping_stores_what_there_is_time_for, make_dir, NULL)
{
	struct upload_log *l = open_log();
	struct log_drain *d = start(l);

	for (uint64_t n = 1; n <= 5; n++)
		append(l, n);
	upload_log_stop(l);
	log_drain_stop(d, 600 * NS_PER_S);
	assert_int_equal(bytes_of(l), 0);
	assert_once(1, 5);
	log_drain_free(d);
	upload_log_close(l);
}

TEST_FIXTURE(stopping_does_not_wait_for_a_store_that_is_away, make_dir, NULL)
{
	struct upload_log *l = open_log();
	struct log_drain *d;

	faulty.error = -EAGAIN;
	d = start(l);
	append(l, 1);
	upload_log_stop(l);
	log_drain_stop(d, 600 * NS_PER_S);
	assert_true(bytes_of(l) > 0);
	log_drain_free(d);
	faulty.error = 0;
	l = reopen(l);
	d = start(l);
	settle(l);
	log_drain_free(d);
	assert_once(1, 1);
	upload_log_close(l);
}

/* As a server does that takes a connection and answers nothing. */
TEST_FIXTURE(stopping_does_not_wait_for_a_store_that_hangs, make_dir, NULL)
{
	struct upload_log *l = open_log();
	struct log_drain *d;
	unsigned n = 0;

	faulty.hangs = true;
	d = start(l);
	append(l, 1);
	while (n == 0) {
		usleep(1000);
		pthread_mutex_lock(&faulty.lock);
		n = faulty.n_inserts;
		pthread_mutex_unlock(&faulty.lock);
	}
	upload_log_stop(l);
	log_drain_stop(d, NS_PER_S);
	assert_true(bytes_of(l) > 0);
	log_drain_free(d);
	faulty.hangs = false;
	l = reopen(l);
	d = start(l);
	settle(l);
	log_drain_free(d);
	assert_once(1, 1);
	upload_log_close(l);
}

static int make_one(void *arg)
{
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	return log_drain_new(&d, &(struct log_drain_config){.log = arg, .store = &faulty_store});
}

TEST_FIXTURE(survives_every_failed_allocation, make_dir, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();

	/* whose thread would meet the failures, too */
	upload_log_stop(l);
	check_oom(make_one, l);
}

/* ---- several receivers of one store: drain_claims.c ---- */

static int share(void **state)
{
	(void)make_dir(state);
	faulty_store_share();
	claim_wait_ns = 0;
	return 0;
}

static void append_repeat(struct upload_log *l, uint64_t n)
{
	append_as(l, n, NOON_NS, true);
}

static size_t n_claims(void)
{
	size_t n;

	pthread_mutex_lock(&faulty.lock);
	n = faulty.n_claims;
	pthread_mutex_unlock(&faulty.lock);
	return n;
}

static void add_complete(uint64_t n)
{
	for (int t = 0; t < STORE_TABLE_MAX; t++)
		faulty_store_add((enum store_table)t, n);
}

TEST_FIXTURE(a_first_attempt_claims_nothing, share, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	append(l, 1);
	d = start(l);
	settle(l);
	assert_once(1, 1);
	assert_int_equal(faulty.n_inserts, 3);
	assert_int_equal(n_claims(), 0);
}

/* The first attempt died before the log had it. */
TEST_FIXTURE(a_repeat_that_nobody_has_is_claimed_and_stored, share, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	claim_wait_ns = 50 * NS_PER_MS;
	append_repeat(l, 1);
	append(l, 2);
	append_repeat(l, 3);
	d = start(l);
	settle(l);
	assert_once(1, 3);
	assert_int_equal(n_claims(), 2);
}

/* What comes with it, or after it, does not wait. */
TEST_FIXTURE(a_repeat_holds_up_only_itself, share, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	append_repeat(l, 1);
	append(l, 2);
	d = start(l);
	eventually(faulty_store_count(STORE_QUALITY, 2) == 1);
	append(l, 3);
	eventually(faulty_store_count(STORE_QUALITY, 3) == 1);
	assert_int_equal(faulty_store_count(STORE_SAMPLES, 1), 0);
	/* its stacks are there: uploads after it refer to them */
	assert_int_equal(faulty_store_count(STORE_STACKS, 1), 1);
	assert_true(bytes_of(l) > 0);
}

TEST_FIXTURE(a_repeat_that_another_receiver_stores_is_dropped, share, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	claim_wait_ns = 3 * NS_PER_S;
	append_repeat(l, 1);
	d = start(l);
	eventually(n_claims() == 1);
	add_complete(1);
	settle(l);
	assert_int_equal(faulty_store_count(STORE_SAMPLES, 1), 1);
	assert_int_equal(faulty_store_count(STORE_QUALITY, 1), 1);
}

/* Another one claimed it while ours was in the log: ours waits for it, and takes over at last. */
TEST_FIXTURE(a_first_attempt_that_is_claimed_waits_for_the_claimant, share, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	claim_wait_ns = 200 * NS_PER_MS;
	faulty_store_claim(1, "another");
	append(l, 1);
	append(l, 2);
	d = start(l);
	eventually(faulty_store_count(STORE_QUALITY, 2) == 1);
	assert_int_equal(faulty_store_count(STORE_SAMPLES, 1), 0);
	/* the claimant is lost */
	settle(l);
	assert_once(1, 2);
	assert_int_equal(n_claims(), 2);
}

/* Whoever claimed last stores it. */
TEST_FIXTURE(an_older_claim_gives_way, share, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	claim_wait_ns = 500 * NS_PER_MS;
	append_repeat(l, 1);
	d = start(l);
	eventually(n_claims() == 1);
	faulty_store_claim(1, "another");
	/* past its own wait, and before it takes over */
	eventually(n_claims() == 3);
	assert_int_equal(faulty_store_count(STORE_SAMPLES, 1), 0);
	settle(l);
	assert_once(1, 1);
}

/* Another receiver was killed between samples and quality, and its disk is lost. */
TEST_FIXTURE(a_repeat_of_half_an_upload_completes_it, share, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	claim_wait_ns = 50 * NS_PER_MS;
	faulty_store_add(STORE_SAMPLES, 1);
	append_repeat(l, 1);
	append_repeat(l, 2);
	d = start(l);
	settle(l);
	assert_once(1, 2);
}

static void claim_one(enum store_table table)
{
	if (table == STORE_QUALITY && n_claims() == 0) {
		faulty_store_claim(1, "another");
		usleep(30000);
	}
}

/* The claim comes while the insert is retried: the retry asks again. */
TEST_FIXTURE(a_claim_that_comes_between_two_attempts_counts, share, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	claim_wait_ns = 160 * NS_PER_MS; /* an answer is good for 20 ms */
	faulty.on_insert = claim_one;
	faulty.lose = STORE_QUALITY;
	append(l, 1);
	d = start(l);
	settle(l);
	assert_int_equal(faulty_store_count(STORE_SAMPLES, 1), 1);
	assert_int_equal(faulty_store_count(STORE_QUALITY, 1), 1);
}

TEST_FIXTURE(a_restart_keeps_who_is_contested, share, NULL)
{
	struct upload_log *l = open_log();
	struct log_drain *d;

	append_repeat(l, 1);
	append(l, 2);
	d = start(l);
	eventually(n_claims() == 1);
	log_drain_stop(d, 0);
	log_drain_free(d);
	l = reopen(l);
	claim_wait_ns = 50 * NS_PER_MS;
	d = start(l);
	settle(l);
	log_drain_free(d);
	assert_int_equal(faulty_store_count(STORE_SAMPLES, 1), 1);
	assert_int_equal(faulty_store_count(STORE_SAMPLES, 2), 1);
	assert_int_equal(faulty_store_count(STORE_QUALITY, 1), 1);
	assert_int_equal(faulty_store_count(STORE_QUALITY, 2), 1);
	upload_log_close(l);
}

/* A receiver whose log is of an hour ago finds what was claimed and stored meanwhile. */
TEST_FIXTURE(an_old_log_stores_nothing_twice, share, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	append(l, 1);
	append(l, 2);
	l = reopen(l);
	faulty_store_claim(1, "another");
	add_complete(1);
	d = start(l);
	settle(l);
	assert_int_equal(faulty_store_count(STORE_SAMPLES, 1), 1);
	assert_int_equal(faulty_store_count(STORE_QUALITY, 1), 1);
	assert_once(2, 1);
}
