/* The write-ahead log: appending, reading, committing, limits. */
#include <errno.h>
#include <sys/stat.h>

#include "test/lib/log_fixture.h"
#include "test/lib/unit.h"

/* ---- one after the other ---- */

TEST_FIXTURE(test_an_upload_comes_out_as_it_went_in, log_fixture_setup, log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct log_segment_content c;
	struct log_segment *s;

	log_fixture_open(f, NULL);
	assert_null(upload_log_next(f->log, 0));
	assert_int_equal(log_fixture_append(f, 1), 0);
	s = log_fixture_next(f, &c);
	assert_int_equal(c.n_records, 1);
	assert_int_equal(log_fixture_upload(&c, 0), 1);
	assert_int_equal(strlen(c.token), 32);
	assert_int_equal(strspn(c.token, "0123456789abcdef"), 32);
	assert_false(c.recovered);
	assert_false(c.damaged);
	log_fixture_commit(f, s, NULL);
	assert_null(upload_log_next(f->log, 0));
	assert_int_equal(log_fixture_metric(f, "appends_total"), 1);
	assert_int_equal(log_fixture_metric(f, "commits_total"), 1);
	assert_int_equal(log_fixture_metric(f, "bytes"), 0);
	assert_int_equal(log_fixture_metric(f, "segments"), 0);
}

/* The log's thread may be done with an upload a moment after it has answered it. */
TEST_FIXTURE(test_the_open_segment_comes_even_to_a_reader_that_does_not_wait, log_fixture_setup,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;

	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, 1), 0);
	while (!upload_log_next(f->log, 0))
		;
}

static void ignore(void *ctx, int result)
{
	(void)ctx;
	assert_int_equal(result, 0);
}

TEST_FIXTURE(test_frames_of_all_tables_keep_their_order, log_fixture_setup, log_fixture_teardown)
{
	static const struct logged_frames frames[] = {
		{STORE_STACKS, {"stacks", 6, .n_rows = 3, .n_bytes = 100, .quarter = 1}},
		{STORE_SAMPLES, {"samples", 7, .n_rows = 30, .n_bytes = 1000, .quarter = 2}},
		{STORE_SAMPLES, {"", 0, .n_rows = 0, .n_bytes = 0}},
		{STORE_QUALITY, {"q", 1, .n_rows = 1, .n_bytes = 7}},
	};
	struct log_fixture *f = *state;
	struct log_segment_content c;

	log_fixture_open(f, NULL);
	for (uint64_t n = 0; n < 3; n++)
		assert_int_equal(upload_log_append(f->log, log_fixture_id(n), frames,
						   ARRAY_SIZE(frames), ignore, NULL),
				 0);
	upload_log_stop(f->log);
	(void)log_fixture_next(f, &c);
	assert_int_equal(c.n_records, 3);
	assert_int_equal(c.n_frames, 12);
	for (size_t i = 0; i < c.n_frames; i++) {
		const struct logged_frames *in = &frames[i % 4], *out = &c.frames[i].data;

		assert_int_equal(c.frames[i].record, i / 4);
		assert_int_equal(out->table, in->table);
		assert_int_equal(out->frame.len, in->frame.len);
		assert_memory_equal(out->frame.data, in->frame.data, in->frame.len);
		assert_int_equal(out->frame.n_rows, in->frame.n_rows);
		assert_int_equal(out->frame.n_bytes, in->frame.n_bytes);
		assert_int_equal(out->frame.quarter, in->frame.quarter);
	}
}

TEST_FIXTURE(test_a_segment_comes_again_until_it_is_committed, log_fixture_setup,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct log_segment_content c;
	char token[33];

	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, 1), 0);
	(void)log_fixture_next(f, &c);
	memcpy(token, c.token, sizeof(token));
	assert_int_equal(log_fixture_append(f, 2), 0);
	(void)log_fixture_next(f, &c);
	assert_string_equal(c.token, token);
	assert_int_equal(c.n_records, 1);

	/* and after a restart, before the newer one */
	log_fixture_open(f, NULL);
	log_fixture_commit(f, log_fixture_next(f, &c), NULL);
	log_fixture_open(f, NULL);
	(void)log_fixture_next(f, &c);
	assert_true(c.recovered);
	assert_string_not_equal(c.token, token);
	assert_int_equal(log_fixture_upload(&c, 0), 2);
	assert_int_equal(log_fixture_metric(f, "recovered_total"), 1);
}

TEST_FIXTURE(test_a_token_survives_a_restart, log_fixture_setup, log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct log_segment_content c;
	char token[33];

	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, 1), 0);
	(void)log_fixture_next(f, &c);
	memcpy(token, c.token, sizeof(token));
	log_fixture_open(f, NULL);
	(void)log_fixture_next(f, &c);
	assert_string_equal(c.token, token);

	/* but does not come again in an empty folder */
	log_fixture_close(f);
	log_fixture_empty(f);
	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, 1), 0);
	(void)log_fixture_next(f, &c);
	assert_string_not_equal(c.token, token);
}

TEST_FIXTURE(test_a_repetition_is_not_appended_even_after_a_restart, log_fixture_setup,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct log_segment_content c;
	uint64_t uploads[4];

	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, 1), 0);
	assert_int_equal(log_fixture_append(f, 1), 0);
	log_fixture_commit(f, log_fixture_next(f, &c), NULL);
	assert_int_equal(log_fixture_append(f, 1), 0);
	assert_int_equal(log_fixture_append(f, 2), 0);
	assert_int_equal(log_fixture_metric(f, "repetitions_total"), 2);

	for (int i = 0; i < 3; i++) {
		log_fixture_open(f, NULL);
		assert_true(upload_log_has(f->log, log_fixture_id(1)));
		assert_true(upload_log_has(f->log, log_fixture_id(2)));
		assert_false(upload_log_has(f->log, log_fixture_id(3)));
		assert_int_equal(log_fixture_append(f, 1), 0);
		assert_int_equal(log_fixture_append(f, 2), 0);
		assert_int_equal(log_fixture_metric(f, "repetitions_total"), 2);
	}
	assert_int_equal(log_fixture_drain(f, uploads, 4), 1);
	assert_int_equal(uploads[0], 2);
}

TEST_FIXTURE(test_the_oldest_ids_are_forgotten, log_fixture_setup, log_fixture_teardown)
{
	const struct upload_log_config cfg = {.max_ids = 5};
	struct log_fixture *f = *state;

	log_fixture_open(f, &cfg);
	for (uint64_t n = 0; n < 8; n++)
		assert_int_equal(log_fixture_append(f, n), 0);
	for (uint64_t n = 0; n < 8; n++)
		assert_int_equal(upload_log_has(f->log, log_fixture_id(n)), n >= 3);
	assert_int_equal(log_fixture_metric(f, "ids"), 5);
	assert_int_equal(log_fixture_metric(f, "forgotten_ids_total"), 3);
	assert_int_equal(log_fixture_drain(f, NULL, 0), 8);
}

TEST_FIXTURE(test_refused_uploads_are_kept_aside_and_remembered, log_fixture_setup,
	     log_fixture_teardown)
{
	const bool refused[3] = {false, true, false};
	struct log_fixture *f = *state;
	struct log_segment_content c;
	char name[64];

	log_fixture_open(f, NULL);
	/* one segment: nobody asks for it yet */
	for (uint64_t n = 1; n <= 3; n++)
		assert_int_equal(log_fixture_append(f, n), 0);
	log_fixture_commit(f, log_fixture_next(f, &c), refused);
	assert_int_equal(log_fixture_files(f, ".refused", name), 1);
	assert_int_equal(log_fixture_metric(f, "refused_records_total"), 1);

	log_fixture_open(f, NULL);
	assert_true(upload_log_has(f->log, log_fixture_id(2)));
	assert_null(upload_log_next(f->log, 0));
	log_fixture_close(f);

	/* the file has the format of a segment: renamed, it is inserted again */
	{
		uint8_t bytes[4096];
		size_t len = log_fixture_load(f, name, bytes, sizeof(bytes));

		log_fixture_empty(f);
		log_fixture_put(f, "0000000000000001.segment", bytes, len);
	}
	log_fixture_open(f, NULL);
	(void)log_fixture_next(f, &c);
	assert_int_equal(c.n_records, 1);
	assert_int_equal(log_fixture_upload(&c, 0), 2);
}

TEST_FIXTURE(test_kept_files_are_bounded, log_fixture_setup, log_fixture_teardown)
{
	const bool refused[1] = {true};
	struct log_fixture *f = *state;
	struct log_segment_content c;

	log_fixture_open(f, NULL);
	for (uint64_t n = 0; n < 70; n++) {
		assert_int_equal(log_fixture_append(f, n), 0);
		log_fixture_commit(f, log_fixture_next(f, &c), refused);
	}
	assert_int_equal(log_fixture_files(f, ".refused", NULL), 64);
	assert_int_equal(log_fixture_metric(f, "kept_aside_deleted_total"), 6);
}

/* ---- limits ---- */

TEST_FIXTURE(test_a_segment_ends_at_its_size, log_fixture_setup, log_fixture_teardown)
{
	const struct upload_log_config cfg = {.segment_bytes = 10000};
	struct log_fixture *f = *state;
	struct log_segment_content c;

	log_fixture_open(f, &cfg);
	for (uint64_t n = 0; n < 5; n++)
		assert_int_equal(log_fixture_append_bytes(f, n, 4000), 0);
	/* one that exceeds it alone */
	assert_int_equal(log_fixture_append_bytes(f, 5, 50000), 0);
	assert_int_equal(log_fixture_metric(f, "segments"), 4);
	for (int i = 0; i < 4; i++) {
		static const size_t n_records[] = {2, 2, 1, 1};
		struct log_segment *s = log_fixture_next(f, &c);

		assert_int_equal(c.n_records, n_records[i]);
		log_fixture_commit(f, s, NULL);
	}
}

TEST_FIXTURE(test_a_segment_ends_at_its_rows, log_fixture_setup, log_fixture_teardown)
{
	const struct upload_log_config cfg = {.segment_rows = 3};
	struct log_fixture *f = *state;
	struct log_segment_content c;

	log_fixture_open(f, &cfg);
	for (uint64_t n = 0; n < 7; n++)
		assert_int_equal(log_fixture_append(f, n), 0);
	(void)log_fixture_next(f, &c);
	assert_int_equal(c.n_records, 3);
	assert_int_equal(log_fixture_drain(f, NULL, 0), 7);
}

TEST_FIXTURE(test_a_full_log_refuses_until_something_is_committed, log_fixture_setup,
	     log_fixture_teardown)
{
	const struct upload_log_config cfg = {.max_bytes = 20000, .segment_bytes = 5000};
	struct log_fixture *f = *state;
	struct upload_log_state s;
	uint64_t n = 0;

	log_fixture_open(f, &cfg);
	while (log_fixture_append_bytes(f, n, 900) == 0)
		n++;
	assert_true(n >= 15 && n <= 22);
	assert_int_equal(log_fixture_append_bytes(f, n, 900), -EAGAIN);
	assert_int_equal(log_fixture_append_bytes(f, 0, 900), 0); /* a repetition needs no room */
	upload_log_state(f->log, &s);
	assert_true(s.full && s.n_bytes <= 20000 && s.n_bytes > 18000 && s.oldest_age_ns > 0);
	assert_int_equal(s.max_bytes, 20000);
	assert_int_equal(log_fixture_metric(f, "refused_total{reason=\"full\"}"), 2);

	/* what is left of an earlier process counts, too */
	log_fixture_open(f, &cfg);
	assert_int_equal(log_fixture_append_bytes(f, n, 900), -EAGAIN);
	assert_int_equal(log_fixture_drain(f, NULL, 0), n);
	assert_int_equal(log_fixture_append_bytes(f, n, 900), 0);
	upload_log_state(f->log, &s);
	assert_false(s.full);
}

TEST_FIXTURE(test_an_upload_beyond_a_segment_is_refused, log_fixture_setup, log_fixture_teardown)
{
	const struct logged_frames frame = {.frame = {.len = UPLOAD_LOG_MAX_RECORD_BYTES}};
	const struct upload_log_config small = {.max_bytes = 2000};
	struct log_fixture *f = *state;

	log_fixture_open(f, NULL);
	assert_int_equal(upload_log_append(f->log, log_fixture_id(1), &frame, 1, ignore, NULL),
			 -EFBIG);
	assert_int_equal(log_fixture_metric(f, "refused_total{reason=\"too_large\"}"), 1);
	log_fixture_open(f, &small);
	assert_int_equal(log_fixture_append_bytes(f, 1, 2000), -EFBIG);
	assert_int_equal(log_fixture_append_bytes(f, 1, 100), 0);
}

static int append_one(void *arg)
{
	return log_fixture_append(arg, 1);
}

TEST_FIXTURE(test_an_append_without_memory_leaves_nothing, log_fixture_setup, log_fixture_teardown)
{
	struct log_fixture *f = *state;

	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, 0), 0);
	check_oom(append_one, f);
	assert_int_equal(log_fixture_drain(f, NULL, 0), 2);
}

/* ---- life ---- */

TEST_FIXTURE(test_a_stopped_log_takes_nothing_and_gives_what_it_has, log_fixture_setup,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct log_segment_content c;

	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, 1), 0);
	upload_log_stop(f->log);
	upload_log_stop(f->log);
	assert_int_equal(log_fixture_append(f, 2), -EPIPE);
	log_fixture_commit(f, log_fixture_next(f, &c), NULL);
	assert_null(upload_log_next(f->log, LOG_FIXTURE_WAIT_NS));
}

TEST_FIXTURE(test_a_directory_belongs_to_one_log_and_its_files_to_nobody_else, log_fixture_setup,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	const struct upload_log_config cfg = {.dir = f->dir};
	struct upload_log *second = NULL;
	struct err err = {0};
	char path[128], name[64];
	struct stat st;

	assert_int_equal(chmod(f->dir, 0755), 0);
	log_fixture_open(f, NULL);
	assert_int_equal(upload_log_open(&second, &cfg, &err), -EBUSY);
	assert_non_null(strstr(err.msg, f->dir));
	assert_int_equal(stat(f->dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(log_fixture_append(f, 1), 0);
	assert_int_equal(log_fixture_files(f, ".segment", name), 1);
	(void)snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

TEST_FIXTURE(test_files_of_others_are_left_alone, log_fixture_setup, log_fixture_teardown)
{
	static const char *const names[] = {"notes", "1.segment", "000000000000000G.segment",
					    "0000000000000001.segment.old", "LOST+FOUND"};
	struct log_fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		log_fixture_put(f, names[i], "mine", 4);
	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, 1), 0);
	assert_int_equal(log_fixture_drain(f, NULL, 0), 1);
	log_fixture_close(f);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint8_t bytes[16];

		assert_int_equal(log_fixture_load(f, names[i], bytes, sizeof(bytes)), 4);
	}
}

TEST_FIXTURE(test_a_directory_that_cannot_be_made_is_named, log_fixture_setup, log_fixture_teardown)
{
	const struct upload_log_config cfg = {.dir = "/nowhere/at/all"};
	struct upload_log *l = NULL;
	struct err err = {0};

	assert_int_equal(upload_log_open(&l, &cfg, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nowhere/at/all"));
}
