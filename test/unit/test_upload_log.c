/* The write-ahead log, with real files in a folder of its own below $TMPDIR. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>

#include "cluster-agent/wal/upload_log.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define LONG_NS (300 * NS_PER_S)

/* ---- helpers ---- */

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/test_upload_log.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	(void)state;
	while (d && (e = readdir(d)) != NULL)
		(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	return rmdir(dir);
}

static struct upload_log *open_log(const struct upload_log_config *cfg)
{
	struct upload_log_config c = cfg ? *cfg : (struct upload_log_config){0};
	struct upload_log *l = NULL;
	struct err err = {0};

	c.dir = dir;
	if (upload_log_open(&l, &c, &err) < 0)
		fail_msg("%s", err.msg);
	return l;
}

#define QUARTER 1900000u

struct answer {
	sem_t done;
	int n;
	int result;
};

static void on_done(void *ctx, int result)
{
	struct answer *a = ctx;

	a->result = result;
	a->n++;
	sem_post(&a->done);
}

static struct upload_id id_of(uint64_t n)
{
	return (struct upload_id){.low = n, .high = ~n};
}

/* An upload whose only frame has the given text. Returns what it is answered. */
static int append(struct upload_log *l, uint64_t n, const char *text)
{
	const struct logged_frames f = {
		.table = STORE_SAMPLES,
		.frame = {.data = text,
			  .len = strlen(text),
			  .n_rows = 1,
			  .n_bytes = 10,
			  .quarter = QUARTER},
	};
	struct answer a = {0};
	int r;

	sem_init(&a.done, 0, 0);
	r = upload_log_append(l, id_of(n), &f, 1, on_done, &a);
	if (r < 0)
		return r;
	while (sem_wait(&a.done) < 0)
		;
	assert_int_equal(a.n, 1);
	return a.result;
}

static struct log_segment *next(struct upload_log *l, struct log_segment_content *c)
{
	struct log_segment *s = upload_log_next(l, LONG_NS);
	struct err err = {0};

	assert_non_null(s);
	if (log_segment_read(s, c, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

static void commit(struct upload_log *l, struct log_segment *s, const bool *refused)
{
	struct err err = {0};

	if (upload_log_commit(l, s, refused, &err) < 0)
		fail_msg("%s", err.msg);
}

static void assert_frame(const struct log_segment_content *c, size_t i, const char *text)
{
	assert_true(i < c->n_frames);
	assert_int_equal(c->frames[i].data.frame.len, strlen(text));
	assert_memory_equal(c->frames[i].data.frame.data, text, strlen(text));
	assert_int_equal(c->frames[i].data.frame.quarter, QUARTER);
}

/* ---- tests ---- */

static void test_an_upload_comes_out_as_it_went_in(void **state)
{
	CLEANUP(upload_log_closep) struct upload_log *l = open_log(NULL);
	struct log_segment_content c;
	struct log_segment *s;

	(void)state;
	assert_null(upload_log_next(l, 0));
	assert_int_equal(append(l, 1, "one"), 0);
	s = next(l, &c);
	assert_int_equal(c.n_records, 1);
	assert_int_equal(c.n_frames, 1);
	assert_int_equal(c.ids[0].low, 1);
	assert_int_equal(strlen(c.token), 32);
	assert_false(c.recovered);
	assert_frame(&c, 0, "one");
	assert_int_equal(c.frames[0].data.table, STORE_SAMPLES);
	commit(l, s, NULL);
	assert_null(upload_log_next(l, 0));
}

static void test_a_repetition_is_not_appended_even_after_a_restart(void **state)
{
	struct upload_log *l = open_log(NULL);
	struct log_segment_content c;

	(void)state;
	assert_int_equal(append(l, 1, "one"), 0);
	assert_int_equal(append(l, 1, "one"), 0);
	commit(l, next(l, &c), NULL);
	assert_int_equal(append(l, 1, "one"), 0);
	assert_int_equal(append(l, 2, "two"), 0);
	upload_log_close(l);

	l = open_log(NULL);
	assert_true(upload_log_has(l, id_of(1)));
	assert_true(upload_log_has(l, id_of(2)));
	assert_int_equal(append(l, 1, "one"), 0);
	assert_int_equal(append(l, 2, "two"), 0);
	(void)next(l, &c);
	assert_true(c.recovered);
	assert_int_equal(c.n_records, 1);
	assert_frame(&c, 0, "two");
	upload_log_close(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_an_upload_comes_out_as_it_went_in, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(
			test_a_repetition_is_not_appended_even_after_a_restart, make_dir,
			remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
