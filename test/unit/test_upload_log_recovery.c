/* What the write-ahead log makes of files that a crash or a disk has damaged. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "cluster-agent/wal/upload_record.h"
#include "common/data/record_format.h"
#include "test/lib/log_fixture.h"
#include "test/lib/unit.h"

#define N_UPLOADS 4
#define MAX_BYTES 4096

struct file {
	char name[64];
	uint8_t bytes[MAX_BYTES];
	size_t len;
};

/* A log with N_UPLOADS in one segment, and nothing else. */
static void make_segment(struct log_fixture *f, struct file *ret)
{
	log_fixture_open(f, NULL);
	for (uint64_t n = 0; n < N_UPLOADS; n++)
		assert_int_equal(log_fixture_append_bytes(f, n, 10 * n), 0);
	log_fixture_close(f);
	assert_int_equal(log_fixture_files(f, ".segment", ret->name), 1);
	ret->len = log_fixture_load(f, ret->name, ret->bytes, sizeof(ret->bytes));
}

/* How many of the first records are whole in the first len bytes. */
static size_t whole_records(const struct file *file, size_t len)
{
	struct record_cursor c;
	struct record r;
	size_t n = 0;

	if (record_cursor_init(&c, file->bytes, len) < 0)
		return 0;
	while (record_cursor_next(&c, &r) == RECORD_READ)
		n++;
	return n;
}

TEST_FIXTURE(test_a_segment_cut_anywhere_keeps_its_whole_records, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct file file;

	make_segment(f, &file);
	for (size_t len = 0; len <= file.len; len++) {
		uint64_t uploads[N_UPLOADS];
		size_t n = whole_records(&file, len);

		log_fixture_empty(f);
		log_fixture_put(f, file.name, file.bytes, len);
		log_fixture_open(f, NULL);
		/* what was cut off may be sent again */
		for (size_t i = 0; i < N_UPLOADS; i++)
			assert_int_equal(upload_log_has(f->log, log_fixture_id(i)), i < n);
		assert_int_equal(log_fixture_drain(f, uploads, N_UPLOADS), n);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(uploads[i], i);
		assert_int_equal(log_fixture_metric(f, "damaged_segments_total"), 0);
		log_fixture_close(f);
		assert_int_equal(log_fixture_files(f, ".segment", NULL), 0);
		assert_int_equal(log_fixture_files(f, ".damaged", NULL), 0);
	}
}

TEST_FIXTURE(test_the_oldest_upload_is_as_old_after_a_restart, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	const struct timespec hour_ago[2] = {{.tv_nsec = UTIME_OMIT},
					     {.tv_sec = time(NULL) - 3600}};
	struct log_fixture *f = *state;
	struct upload_log_state s;
	struct file file;
	char path[160];

	make_segment(f, &file);
	snprintf(path, sizeof(path), "%s/%s", f->dir, file.name);
	assert_int_equal(utimensat(AT_FDCWD, path, hour_ago, 0), 0);
	log_fixture_open(f, NULL);
	upload_log_state(f->log, &s);
	assert_int_equal(s.n_records, N_UPLOADS);
	assert_true(s.oldest_age_ns >= 3600 * NS_PER_S && s.oldest_age_ns < 7200 * NS_PER_S);
	assert_true(log_fixture_metric(f, "oldest_seconds") >= 3600);
	/* a file of the future, whose age is not known, is not of the past either */
	log_fixture_close(f);
	assert_int_equal(utimensat(AT_FDCWD, path,
				   (struct timespec[2]){{.tv_nsec = UTIME_OMIT},
							{.tv_sec = time(NULL) + 3600}},
				   0),
			 0);
	log_fixture_open(f, NULL);
	upload_log_state(f->log, &s);
	assert_true(s.oldest_age_ns > 0 && s.oldest_age_ns < 3600 * NS_PER_S);
	assert_int_equal(log_fixture_drain(f, NULL, 0), N_UPLOADS);
	upload_log_state(f->log, &s);
	assert_int_equal(s.n_records, 0);
	assert_int_equal(s.oldest_age_ns, 0);
}

TEST_FIXTURE(test_a_torn_end_is_cut_off, log_fixture_setup_in_memory, log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct file file, again;

	make_segment(f, &file);
	log_fixture_put(f, file.name, file.bytes, file.len - 1);
	log_fixture_open(f, NULL);
	assert_true(log_fixture_metric(f, "torn_bytes_total") > 0);
	again.len = log_fixture_load(f, file.name, again.bytes, sizeof(again.bytes));
	assert_int_equal(whole_records(&file, again.len), N_UPLOADS - 1);
	assert_memory_equal(again.bytes, file.bytes, again.len);
	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_metric(f, "torn_bytes_total"), 0);
}

static void check_flip(struct log_fixture *f, const struct file *file, size_t at)
{
	uint64_t uploads[N_UPLOADS] = {0}, seen = 0;
	uint8_t bytes[MAX_BYTES];
	size_t n, n_damaged;

	memcpy(bytes, file->bytes, file->len);
	bytes[at] ^= 0x10;
	log_fixture_empty(f);
	log_fixture_put(f, file->name, bytes, file->len);
	log_fixture_open(f, NULL);
	n_damaged = (size_t)log_fixture_metric(f, "damaged_segments_total");
	assert_int_equal(log_fixture_metric(f, "lost_records_total"), n_damaged);
	n = log_fixture_drain(f, uploads, N_UPLOADS);
	assert_int_equal(n, N_UPLOADS - n_damaged);
	for (size_t i = 0; i < n; i++)
		seen |= UINT64_C(1) << uploads[i];
	assert_int_equal(__builtin_popcountll(seen), n);
	/* the file header and the padding do not matter */
	assert_true(n_damaged == 1 || at < RECORD_FILE_HEADER_BYTES || file->bytes[at] == 0);
	log_fixture_close(f);
	assert_int_equal(log_fixture_files(f, ".segment", NULL), 0);
	assert_int_equal(log_fixture_files(f, ".damaged", NULL), n_damaged);
}

TEST_FIXTURE(test_a_flipped_byte_loses_one_upload_and_keeps_the_file, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct file file;

	make_segment(f, &file);
	for (size_t at = 0; at < file.len; at++)
		check_flip(f, &file, at);
}

TEST_FIXTURE(test_damage_that_comes_while_the_log_is_open_is_seen, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct log_segment_content c;
	struct log_segment *s;
	struct file file;

	make_segment(f, &file);
	log_fixture_open(f, NULL);
	file.bytes[RECORD_FILE_HEADER_BYTES + 1] ^= 1;
	log_fixture_put(f, file.name, file.bytes, file.len);
	s = log_fixture_next(f, &c);
	assert_true(c.damaged);
	assert_int_equal(c.n_records, N_UPLOADS - 1);
	assert_int_equal(log_fixture_metric(f, "damaged_segments_total"), 0);
	log_fixture_commit(f, s, NULL);
	assert_int_equal(log_fixture_metric(f, "damaged_segments_total"), 1);
	assert_int_equal(log_fixture_files(f, ".damaged", NULL), 1);
}

TEST_FIXTURE(test_a_segment_that_is_cut_while_the_log_is_open_is_damaged,
	     log_fixture_setup_in_memory, log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct log_segment_content c;
	struct log_segment *s;
	struct file file;

	make_segment(f, &file);
	log_fixture_open(f, NULL);
	log_fixture_put(f, file.name, file.bytes, file.len - 8);
	s = log_fixture_next(f, &c);
	assert_true(c.damaged);
	assert_int_equal(c.n_records, N_UPLOADS - 1);
	log_fixture_commit(f, s, NULL);
	assert_int_equal(log_fixture_metric(f, "lost_records_total"), 1);
	assert_int_equal(log_fixture_files(f, ".damaged", NULL), 1);
}

TEST_FIXTURE(test_a_segment_of_which_nothing_can_be_read_is_kept_aside, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct file file;

	make_segment(f, &file);
	memset(file.bytes, 0x55, file.len);
	log_fixture_put(f, file.name, file.bytes, file.len);
	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_metric(f, "damaged_segments_total"), 1);
	assert_null(upload_log_next(f->log, 0));
	assert_int_equal(log_fixture_files(f, ".damaged", NULL), 1);
	assert_int_equal(log_fixture_append(f, 1), 0);
}

TEST_FIXTURE(test_a_log_of_a_newer_release_is_not_touched, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct upload_log_config cfg = {.dir = f->dir};
	struct record_file_header h;
	struct upload_log *l = NULL;
	struct err err = {0};
	struct file file;

	make_segment(f, &file);
	assert_int_equal(record_file_header_parse(&h, file.bytes, file.len), 0);
	h.version = LOG_FILE_VERSION + 1;
	record_file_header_encode(file.bytes, &h);
	log_fixture_put(f, file.name, file.bytes, file.len);
	assert_int_equal(upload_log_open(&l, &cfg, &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.msg, "newer release"));
	assert_int_equal(log_fixture_files(f, ".segment", NULL), 1);
}

/* Their rows lack a column, which whoever inserts them has to know. */
TEST_FIXTURE(test_uploads_of_an_earlier_release_are_marked, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct log_segment_content c;
	struct record_file_header h;
	struct log_segment *s;
	struct file file;

	for (uint32_t version = 1; version <= LOG_FILE_VERSION; version++) {
		uint32_t columns =
			version < LOG_FILE_VERSION_LABELS ? version : LOG_FILE_VERSION_LABELS;

		make_segment(f, &file);
		assert_int_equal(record_file_header_parse(&h, file.bytes, file.len), 0);
		assert_int_equal(h.version, LOG_FILE_VERSION);
		h.version = version;
		record_file_header_encode(file.bytes, &h);
		log_fixture_empty(f);
		log_fixture_put(f, file.name, file.bytes, file.len);
		log_fixture_open(f, NULL);
		s = log_fixture_next(f, &c);
		assert_int_equal(c.n_records, N_UPLOADS);
		for (size_t i = 0; i < c.n_frames; i++)
			assert_int_equal(c.frames[i].data.frame.n_missing,
					 LOG_FILE_VERSION_LABELS - columns);
		log_fixture_commit(f, s, NULL);
		log_fixture_close(f);
		log_fixture_empty(f);
	}
}

/* ---- ids ---- */

/* A log in which uploads 0..n-1 are committed, each by itself. */
static void make_ids(struct log_fixture *f, struct file *ret, uint64_t n)
{
	struct log_segment_content c;

	log_fixture_open(f, NULL);
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(log_fixture_append(f, i), 0);
		log_fixture_commit(f, log_fixture_next(f, &c), NULL);
	}
	log_fixture_close(f);
	assert_int_equal(log_fixture_files(f, ".ids", ret->name), 1);
	ret->len = log_fixture_load(f, ret->name, ret->bytes, sizeof(ret->bytes));
}

static size_t count_known(struct log_fixture *f, uint64_t n)
{
	size_t known = 0;

	for (uint64_t i = 0; i < n; i++)
		known += upload_log_has(f->log, log_fixture_id(i));
	return known;
}

TEST_FIXTURE(test_a_file_of_ids_cut_anywhere_keeps_the_older_ones, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct file file;

	make_ids(f, &file, 3);
	for (size_t len = 0; len <= file.len; len++) {
		size_t n = whole_records(&file, len);

		log_fixture_empty(f);
		log_fixture_put(f, file.name, file.bytes, len);
		log_fixture_open(f, NULL);
		assert_int_equal(count_known(f, 10), n);
		assert_null(upload_log_next(f->log, 0));
		/* and it is continued */
		assert_int_equal(log_fixture_append(f, 5), 0);
		assert_int_equal(log_fixture_drain(f, NULL, 0), 1);
		log_fixture_open(f, NULL);
		assert_int_equal(count_known(f, 10), n + 1);
		assert_int_equal(log_fixture_metric(f, "damaged_ids_total"), 0);
	}
}

TEST_FIXTURE(test_a_flipped_byte_loses_the_ids_of_one_commit, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct file file;

	make_ids(f, &file, 3);
	for (size_t at = 0; at < file.len; at++) {
		bool is_damaged;

		file.bytes[at] ^= 0x10;
		log_fixture_empty(f);
		log_fixture_put(f, file.name, file.bytes, file.len);
		file.bytes[at] ^= 0x10;
		log_fixture_open(f, NULL);
		is_damaged = log_fixture_metric(f, "damaged_ids_total") > 0;
		assert_int_equal(count_known(f, 3), is_damaged ? 2 : 3);
		assert_true(is_damaged || at < RECORD_FILE_HEADER_BYTES);
	}
}

TEST_FIXTURE(test_a_file_of_ids_without_a_header_is_kept_aside, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct file file;

	make_ids(f, &file, 3);
	memset(file.bytes, 0, RECORD_FILE_HEADER_BYTES);
	log_fixture_put(f, file.name, file.bytes, file.len);
	for (int i = 0; i < 2; i++) {
		log_fixture_open(f, NULL);
		assert_int_equal(count_known(f, 3), 0);
		assert_int_equal(log_fixture_metric(f, "damaged_ids_total"), i == 0 ? 1 : 0);
	}
	assert_int_equal(log_fixture_files(f, ".damaged", NULL), 1);
}

/*
 * A crash between the two steps of a commit leaves the segment's file: it must not be inserted
 * again, although its ids may be forgotten.
 */
TEST_FIXTURE(test_a_committed_segment_that_was_not_removed_is_removed, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	const struct upload_log_config cfg = {.max_ids = 1};
	struct log_fixture *f = *state;
	struct file file;

	make_segment(f, &file);
	for (int i = 0; i < 2; i++) {
		log_fixture_open(f, &cfg);
		assert_int_equal(log_fixture_drain(f, NULL, 0), i == 0 ? N_UPLOADS : 0);
		log_fixture_close(f);
		log_fixture_put(f, file.name, file.bytes, file.len);
	}
	log_fixture_open(f, &cfg);
	assert_null(upload_log_next(f->log, 0));
	assert_int_equal(log_fixture_files(f, file.name, NULL), 0);
}

/* A segment of the same number but of another log is not the one that was committed. */
TEST_FIXTURE(test_a_commit_is_of_a_segment_and_not_of_a_number, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct file ids, segment;
	uint64_t upload;

	make_ids(f, &ids, 1);
	log_fixture_empty(f);
	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, 7), 0);
	log_fixture_close(f);
	assert_int_equal(log_fixture_files(f, ".segment", segment.name), 1);
	log_fixture_put(f, ids.name, ids.bytes, ids.len);
	log_fixture_open(f, NULL);
	assert_true(upload_log_has(f->log, log_fixture_id(0)));
	assert_int_equal(log_fixture_drain(f, &upload, 1), 1);
	assert_int_equal(upload, 7);
}

/*
 * A write failed, its bytes could not be removed, and the upload was sent again: the earlier
 * segment must come out as it was inserted, without the upload.
 */
TEST_FIXTURE(test_an_id_in_two_segments_counts_in_the_later_one, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	struct log_fixture *f = *state;
	struct log_segment_content c;
	struct log_segment *s;
	struct file file;

	make_segment(f, &file);
	log_fixture_empty(f);
	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_append(f, N_UPLOADS - 1), 0);
	assert_int_equal(log_fixture_append(f, 9), 0);
	log_fixture_close(f);
	/* numbers begin at 1, so this is the older one */
	log_fixture_put(f, "0000000000000000.segment", file.bytes, file.len);

	log_fixture_open(f, NULL);
	s = log_fixture_next(f, &c);
	assert_int_equal(c.n_records, N_UPLOADS - 1);
	for (size_t i = 0; i < c.n_records; i++)
		assert_int_equal(log_fixture_upload(&c, i), i);
	log_fixture_commit(f, s, NULL);
	(void)log_fixture_next(f, &c);
	assert_int_equal(c.n_records, 2);
	assert_int_equal(log_fixture_upload(&c, 0), N_UPLOADS - 1);
	assert_int_equal(log_fixture_upload(&c, 1), 9);
}
