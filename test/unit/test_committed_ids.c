/* The files of ids: how many there are, and what is read of them again. */
#include <errno.h>
#include <fcntl.h>

#include "cluster-agent/wal/committed_ids.h"
#include "cluster-agent/wal/upload_record.h"
#include "test/lib/failing_sync.h"
#include "test/lib/log_fixture.h"
#include "test/lib/unit.h"

#define IDS_PER_COMMIT 100000u /* 1.6 MB: three commits fill a file */

static const uint8_t segment_id[16] = {42};

struct seen {
	uint64_t n_ids;
	uint64_t last;    /* number of the last id */
	bool is_in_order; /* each id follows the one before */
	uint64_t n_segments;
};

static void see_segment(void *ctx, uint64_t number, const uint8_t id[16])
{
	struct seen *s = ctx;

	(void)number;
	assert_memory_equal(id, segment_id, 16);
	s->n_segments++;
}

static void see_id(void *ctx, struct upload_id id)
{
	struct seen *s = ctx;

	if (s->n_ids > 0 && id.low != s->last + 1)
		s->is_in_order = false;
	s->last = id.low;
	s->n_ids++;
}

struct opened {
	struct record_dir dir;
	_Atomic uint64_t last_number;
	struct committed_ids *ids;
	struct seen seen;
};

static void open_ids(struct opened *o, const struct log_fixture *f, size_t max_ids)
{
	struct committed_ids_config cfg = {
		.max_ids = max_ids,
		.last_number = &o->last_number,
		.segment = see_segment,
		.id = see_id,
		.ctx = &o->seen,
	};
	struct record_dir_file *files = NULL;
	size_t n;

	*o = (struct opened){
		.seen = {.is_in_order = true},
		.dir = {.kinds = log_file_kinds, .n_kinds = LOG_FILE_KIND_MAX},
	};
	o->dir.fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(o->dir.fd >= 0);
	cfg.dir = &o->dir;
	assert_int_equal(record_dir_list(&o->dir, &files, &n), 0);
	if (n > 0)
		o->last_number = files[n - 1].number;
	assert_int_equal(committed_ids_open(&o->ids, &cfg, files, n), 0);
	free(files);
}

static void close_ids(struct opened *o)
{
	committed_ids_close(TAKE_PTR(o->ids));
	close(o->dir.fd);
}

static int add(struct opened *o, uint64_t first, size_t n)
{
	AUTO_FREE struct upload_id *ids = calloc(n, sizeof(*ids));

	assert_non_null(ids);
	for (size_t i = 0; i < n; i++)
		ids[i].low = first + i;
	return committed_ids_add(o->ids, 1, segment_id, ids, n);
}

TEST_FIXTURE(test_many_small_commits_share_a_file, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	const struct log_fixture *f = *state;
	struct opened o;

	open_ids(&o, f, 1000);
	for (uint64_t i = 0; i < 200; i++)
		assert_int_equal(add(&o, i, 1), 0);
	close_ids(&o);
	assert_int_equal(log_fixture_files(f, ".ids", NULL), 1);
	open_ids(&o, f, 1000);
	assert_int_equal(o.seen.n_ids, 200);
	assert_int_equal(o.seen.n_segments, 200);
	assert_true(o.seen.is_in_order);
	close_ids(&o);
	/* and so do many starts */
	assert_int_equal(log_fixture_files(f, ".ids", NULL), 1);
}

TEST_FIXTURE(test_old_files_are_removed_when_newer_ones_have_enough, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	const struct log_fixture *f = *state;
	struct opened o;

	open_ids(&o, f, 350000);
	for (uint64_t i = 0; i < 20; i++) {
		assert_int_equal(add(&o, i * IDS_PER_COMMIT, IDS_PER_COMMIT), 0);
		assert_true(log_fixture_files(f, ".ids", NULL) <= 3);
	}
	close_ids(&o);
	open_ids(&o, f, 350000);
	assert_true(o.seen.n_ids >= 350000 && o.seen.n_ids <= 900000);
	assert_int_equal(o.seen.last, 20 * IDS_PER_COMMIT - 1);
	assert_true(o.seen.is_in_order);
	close_ids(&o);
}

TEST_FIXTURE(test_a_failed_commit_goes_into_another_file, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	const struct log_fixture *f = *state;
	struct opened o;

	open_ids(&o, f, 1000);
	assert_int_equal(add(&o, 0, 5), 0);
	failing_sync_set(1, EIO);
	assert_int_equal(add(&o, 5, 5), -EIO);
	assert_int_equal(add(&o, 5, 5), 0);
	close_ids(&o);
	assert_int_equal(log_fixture_files(f, ".ids", NULL), 2);
	open_ids(&o, f, 1000);
	assert_int_equal(o.seen.n_ids, 10);
	assert_true(o.seen.is_in_order);
	close_ids(&o);
}

/* On a full disk it is better to forget old ids than never to remove the segment. */
TEST_FIXTURE(test_without_space_the_oldest_ids_are_forgotten, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	const struct log_fixture *f = *state;
	struct opened o;

	open_ids(&o, f, 10000000);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(add(&o, i * IDS_PER_COMMIT, IDS_PER_COMMIT), 0);
	assert_int_equal(log_fixture_files(f, ".ids", NULL), 2);
	failing_sync_set(1, ENOSPC);
	assert_int_equal(add(&o, 400000, 10), 0);
	assert_int_equal(log_fixture_files(f, ".ids", NULL), 1);
	close_ids(&o);
	open_ids(&o, f, 10000000);
	assert_int_equal(o.seen.n_ids, IDS_PER_COMMIT + 10);
	assert_int_equal(o.seen.last, 400009);
	close_ids(&o);
}

/* Records begin at multiples of 8: what follows damage must not begin where that ends. */
TEST_FIXTURE(test_ids_behind_a_damaged_end_of_any_length_are_found, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	const struct log_fixture *f = *state;
	uint8_t bytes[1024];
	char name[64];

	for (size_t n = 24; n < 40; n++) {
		struct opened o;
		size_t len;

		log_fixture_empty(f);
		open_ids(&o, f, 1000);
		assert_int_equal(add(&o, 0, 5), 0);
		close_ids(&o);
		assert_int_equal(log_fixture_files(f, ".ids", name), 1);
		len = log_fixture_load(f, name, bytes, sizeof(bytes));
		memset(bytes + len, 0x5a, n);
		log_fixture_put(f, name, bytes, len + n);
		open_ids(&o, f, 1000);
		assert_int_equal(add(&o, 5, 5), 0);
		close_ids(&o);
		open_ids(&o, f, 1000);
		assert_int_equal(o.seen.n_ids, 10);
		assert_true(o.seen.is_in_order);
		close_ids(&o);
	}
}
