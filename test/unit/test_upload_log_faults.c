/*
 * The write-ahead log with company, and with a disk that fails or is full. The log's thread is held
 * inside a done function while the test prepares what the thread then finds.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "test/lib/failing_sync.h"
#include "test/lib/log_fixture.h"
#include "test/lib/own_mounts.h"
#include "test/lib/unit.h"

#define N_TOGETHER 100

/* ---- the thread is held ---- */

struct hold {
	sem_t is_held;
	sem_t release;
};

static void hold_thread(void *ctx, int result)
{
	struct hold *h = ctx;

	assert_int_equal(result, 0);
	sem_post(&h->is_held);
	while (sem_wait(&h->release) < 0)
		;
}

struct results {
	pthread_mutex_t lock;
	int n;
	int n_failed;
	int result; /* the last one */
};

static struct results results_none(void)
{
	return (struct results){.lock = PTHREAD_MUTEX_INITIALIZER};
}

static void note_result(void *ctx, int result)
{
	struct results *r = ctx;

	pthread_mutex_lock(&r->lock);
	r->n++;
	r->n_failed += result < 0;
	r->result = result;
	pthread_mutex_unlock(&r->lock);
}

static int append(struct log_fixture *f, uint64_t n, upload_log_done_fn done, void *ctx)
{
	const struct logged_frames frame = {
		.table = STORE_SAMPLES,
		.frame = {.data = &n, .len = sizeof(n), .n_rows = 1, .n_bytes = 8},
	};

	return upload_log_append(f->log, log_fixture_id(n), &frame, 1, done, ctx);
}

/* Appends upload 1000, whose done function holds the thread until release(). */
static void hold(struct log_fixture *f, struct hold *h)
{
	sem_init(&h->is_held, 0, 0);
	sem_init(&h->release, 0, 0);
	assert_int_equal(append(f, 1000, hold_thread, h), 0);
	while (sem_wait(&h->is_held) < 0)
		;
}

/* Lets the thread go on and waits until it has answered all that was appended. */
static void release(struct log_fixture *f, struct hold *h)
{
	sem_post(&h->release);
	upload_log_stop(f->log);
}

TEST_FIXTURE(test_uploads_that_wait_share_a_sync, log_fixture_setup, log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct results results = results_none();
	static struct hold h;

	log_fixture_open(f, NULL);
	hold(f, &h);
	assert_int_equal(log_fixture_metric(f, "syncs_total"), 1);
	for (uint64_t n = 0; n < N_TOGETHER; n++)
		assert_int_equal(append(f, n, note_result, &results), 0);
	assert_true(log_fixture_metric(f, "queued_bytes") > 0);
	release(f, &h);
	assert_int_equal(results.n, N_TOGETHER);
	assert_int_equal(results.n_failed, 0);
	assert_int_equal(log_fixture_metric(f, "syncs_total"), 2);
	assert_int_equal(log_fixture_metric(f, "queued_bytes"), 0);
	assert_int_equal(log_fixture_drain(f, NULL, 0), N_TOGETHER + 1);
}

TEST_FIXTURE(test_memory_that_waits_for_a_slow_disk_is_bounded, log_fixture_setup,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct results results = results_none();
	AUTO_FREE char *bytes = calloc(1, 1u << 20);
	const struct logged_frames frame = {
		.table = STORE_SAMPLES,
		.frame = {.data = bytes, .len = 1u << 20, .n_rows = 1, .n_bytes = 8},
	};
	static struct hold h;
	int n = 0, r;

	assert_non_null(bytes);
	log_fixture_open(f, NULL);
	hold(f, &h);
	while ((r = upload_log_append(f->log, log_fixture_id((uint64_t)n), &frame, 1, note_result,
				      &results)) == 0)
		n++;
	assert_int_equal(r, -EAGAIN);
	assert_int_equal(n, 63);
	assert_int_equal(log_fixture_metric(f, "refused_total{reason=\"slow_disk\"}"), 1);
	release(f, &h);
	assert_int_equal(results.n, n);
	assert_int_equal(results.n_failed, 0);
}

TEST_FIXTURE(test_a_repetition_under_way_gets_the_result_of_the_first, log_fixture_setup,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;

	for (int fails = 0; fails < 2; fails++) {
		struct results first = results_none(), others = results_none();
		static struct hold h;

		log_fixture_empty(f);
		log_fixture_open(f, NULL);
		hold(f, &h);
		assert_int_equal(append(f, 1, note_result, &first), 0);
		for (int i = 0; i < 3; i++)
			assert_int_equal(append(f, 1, note_result, &others), 0);
		assert_int_equal(first.n + others.n, 0);
		assert_false(upload_log_has(f->log, log_fixture_id(1)));
		if (fails)
			failing_sync_set(1, EIO);
		release(f, &h);
		failing_sync_set(0, 0);
		assert_int_equal(first.n, 1);
		assert_int_equal(others.n, 3);
		assert_int_equal(first.result, fails ? -EIO : 0);
		assert_int_equal(others.n_failed, fails ? 3 : 0);
		assert_int_equal(others.result, fails ? -EIO : UPLOAD_LOG_REPEATED);
		assert_int_equal(upload_log_has(f->log, log_fixture_id(1)), !fails);
		assert_int_equal(log_fixture_drain(f, NULL, 0), fails ? 1 : 2);
		log_fixture_close(f);
	}
}

/* ---- the disk fails ---- */

TEST_FIXTURE(test_nothing_of_a_failed_sync_is_in_the_log, log_fixture_setup, log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct log_segment_content c;
	uint64_t uploads[8];

	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, 1), 0);
	failing_sync_set(1, EIO);
	assert_int_equal(log_fixture_append(f, 2), -EIO);
	assert_false(upload_log_has(f->log, log_fixture_id(2)));
	assert_int_equal(log_fixture_metric(f, "failed_total{reason=\"io\"}"), 1);

	/* the segment is not used any more, since the kernel may have dropped pages of it */
	assert_int_equal(log_fixture_append(f, 3), 0);
	assert_int_equal(log_fixture_metric(f, "segments"), 2);
	(void)log_fixture_next(f, &c);
	assert_int_equal(c.n_records, 1);
	assert_false(c.damaged);

	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, 2), 0);
	assert_int_equal(log_fixture_drain(f, uploads, 8), 3);
	assert_int_equal(uploads[0], 1);
	assert_int_equal(uploads[1], 3);
	assert_int_equal(uploads[2], 2);
}

TEST_FIXTURE(test_a_first_upload_whose_sync_fails_leaves_no_file, log_fixture_setup,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;

	log_fixture_open(f, NULL);
	failing_sync_set(1, EIO);
	assert_int_equal(log_fixture_append(f, 1), -EIO);
	assert_null(upload_log_next(f->log, 0));
	log_fixture_open(f, NULL);
	assert_false(upload_log_has(f->log, log_fixture_id(1)));
	assert_int_equal(log_fixture_append(f, 1), 0);
	assert_int_equal(log_fixture_drain(f, NULL, 0), 1);
}

TEST_FIXTURE(test_a_commit_whose_sync_fails_is_tried_again, log_fixture_setup, log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct log_segment_content c;
	struct log_segment *s;
	struct err err = {0};

	log_fixture_open(f, NULL);
	for (uint64_t n = 0; n < 2; n++) {
		assert_int_equal(log_fixture_append(f, n), 0);
		s = log_fixture_next(f, &c);
		failing_sync_set(1, EIO);
		assert_int_equal(upload_log_commit(f->log, s, NULL, &err), -EIO);
		assert_non_null(strstr(err.msg, "ids of segment"));
		failing_sync_set(0, 0);
		assert_false(c.recovered);
		s = log_fixture_next(f, &c);
		/* the reader looks for what it has inserted */
		assert_true(c.recovered);
		log_fixture_commit(f, s, NULL);
	}
	log_fixture_open(f, NULL);
	assert_null(upload_log_next(f->log, 0));
	assert_true(upload_log_has(f->log, log_fixture_id(0)));
	assert_true(upload_log_has(f->log, log_fixture_id(1)));
}

/* ---- the disk is full: a small file system of our own, in a child ---- */

/* What the child has to check; it must not use cmocka's asserts. */
#define CHECK(what)                                                   \
	do {                                                          \
		if (!(what)) {                                        \
			fprintf(stderr, "%d: %s\n", __LINE__, #what); \
			_exit(1);                                     \
		}                                                     \
	} while (0)

static uint64_t free_bytes(const char *path)
{
	struct statvfs st;

	CHECK(statvfs(path, &st) == 0);
	return (uint64_t)st.f_bavail * st.f_frsize;
}

/* Takes what is left, as somebody else's file would. */
static void fill_disk(const char *path)
{
	static const char block[4096];
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	CHECK(errno == ENOSPC);
}

static void append_until_full(struct log_fixture *f, uint64_t *n)
{
	int r;

	while ((r = log_fixture_append_bytes(f, *n, 50000)) == 0)
		(*n)++;
	CHECK(r == -ENOSPC);
}

/* Appends are refused for a while after the disk was full: wait until they are tried again. */
static int append_when_tried(struct log_fixture *f, uint64_t n)
{
	int r;

	while ((r = log_fixture_append_bytes(f, n, 50000)) == -ENOSPC &&
	       free_bytes(f->dir) > 200000)
		usleep(10000);
	return r;
}

static void fill_and_free(struct log_fixture *f)
{
	struct upload_log_state s;
	uint64_t n = 0, uploads[200];
	size_t n_drained;
	char filler[80];

	log_fixture_open(f, NULL);
	append_until_full(f, &n);
	CHECK(n > 20);
	upload_log_state(f->log, &s);
	CHECK(s.disk_full && !s.full);
	CHECK(log_fixture_append_bytes(f, n, 50000) == -ENOSPC);
	CHECK(log_fixture_append_bytes(f, 0, 50000) == 0); /* a repetition needs no space */
	CHECK(!upload_log_has(f->log, log_fixture_id(n)));

	/* it starts on a full disk with all that was answered, and gets free again by commits */
	log_fixture_open(f, NULL);
	CHECK(log_fixture_metric(f, "damaged_segments_total") == 0);
	CHECK(log_fixture_append_bytes(f, n, 50000) == -ENOSPC);
	(void)snprintf(filler, sizeof(filler), "%s/filler", f->dir);
	fill_disk(filler);
	CHECK(free_bytes(f->dir) == 0);
	n_drained = log_fixture_drain(f, uploads, ARRAY_SIZE(uploads));
	CHECK(n_drained == n);
	for (uint64_t i = 0; i < n; i++)
		CHECK(uploads[i] == i);
	CHECK(append_when_tried(f, n) == 0);
	CHECK(log_fixture_drain(f, uploads, 1) == 1 && uploads[0] == n);
}

static int run_on_small_disk(struct log_fixture *f, void (*body)(struct log_fixture *))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		CHECK(own_mounts_enter());
		CHECK(mount("small", f->dir, "tmpfs", 0, "size=8m,mode=0700") == 0);
		body(f);
		log_fixture_close(f);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

TEST_FIXTURE(test_a_full_disk_loses_nothing_and_is_left_by_commits, log_fixture_setup,
	     log_fixture_teardown)
{
	assert_int_equal(run_on_small_disk(*state, fill_and_free), 0);
}
