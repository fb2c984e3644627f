/* Uploads of many days in one segment, which become one insert for each day. */
#include <errno.h>
#include <pthread.h>

#include "cluster-agent/store/row_batch.h"
#include "cluster-agent/wal/log_drain.h"
#include "common/system/clock.h"
#include "common/telemetry/metrics.h"
#include "test/lib/faulty_store.h"
#include "test/lib/unit.h"

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
static void append_at(struct upload_log *l, uint64_t n, int64_t start_ns)
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
	assert_int_equal(upload_log_append(l, (struct upload_id){n, 0}, frames, STORE_TABLE_MAX,
					   on_done, &u),
			 0);
	while (!done) {
		usleep(1000);
		pthread_mutex_lock(&u.lock);
		done = u.done;
		pthread_mutex_unlock(&u.lock);
	}
	assert_int_equal(u.result, 0);
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

/* Each upload of first … first + n - 1 is there once. */
static void assert_once(uint64_t first, size_t n)
{
	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		for (uint64_t i = first; i < first + n; i++)
			assert_int_equal(faulty_store_count((enum store_table)t, i), 1);
	}
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

#define HALF_HOUR_NS ((int64_t)(1800 * NS_PER_S))

TEST_FIXTURE(a_piece_is_of_a_day, make_dir, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	/* the engine of the test checks it: 12:00, 12:30, … to 20:00, of three days */
	for (uint64_t n = 0; n < 51; n++)
		append_at(l, n,
			  NOON_NS + (int64_t)(n % 3) * DAY_NS + (int64_t)n / 3 * HALF_HOUR_NS);
	d = start(l);
	settle(l);
	assert_once(0, 51);
	/* the next day begins at 18:30 */
	assert_int_equal(faulty.n_inserts, STORE_TABLE_MAX * 4);
}

TEST_FIXTURE(a_store_that_does_not_tell_days_gets_quarters_of_an_hour, make_dir, NULL)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log();
	CLEANUP(log_drain_freep) struct log_drain *d = NULL;

	faulty.no_days = true;
	for (uint64_t n = 0; n < 9; n++)
		append_at(l, n, NOON_NS + (int64_t)(n % 3) * HALF_HOUR_NS);
	d = start(l);
	settle(l);
	assert_once(0, 9);
	assert_int_equal(faulty.n_inserts, STORE_TABLE_MAX * 3);
}

/* The store has the first day, and knows its token or, after a power cut, does not. */
TEST_FIXTURE(uploads_of_days_are_stored_once_after_a_kill_among_them, make_dir, NULL)
{
	static const struct {
		enum store_table table;
		bool exact;
		bool power_cut;
	} kills[] = {
		{STORE_SAMPLES, false, false}, {STORE_QUALITY, false, false},
		{STORE_SAMPLES, true, false},  {STORE_QUALITY, true, false},
		{STORE_SAMPLES, false, true},  {STORE_QUALITY, false, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kills); i++) {
		uint64_t first = 100 * i;
		struct upload_log *l = open_log();

		faulty.exact = kills[i].exact;
		for (uint64_t n = first; n < first + 96; n++)
			append_at(l, n, NOON_NS + (int64_t)(n - first) * HALF_HOUR_NS);
		die_amid(l, kills[i].table);
		assert_int_equal(faulty_store_count(kills[i].table, first), 1);
		assert_int_equal(faulty_store_count(kills[i].table, first + 95), 0);
		if (kills[i].power_cut)
			faulty.n_tokens = 0;
		recover_and_check(first, 96);
	}
}
