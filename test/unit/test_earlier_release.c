/*
 * Files that an earlier release has left: test/data/record_files. An upgrade must read them, and
 * write what a release before it reads, so the bytes are compared, too.
 *
 * The write-ahead log: two uploads were stored (.ids), three and the beginning of a fourth were not
 * (.segment). The spool: three profiles wait, and the beginning of a fourth (.spool); then the
 * first of them was sent (.finished).
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "cluster-agent/wal/upload_record.h"
#include "common/system/record_file.h"
#include "common/upload/spool_files.h"
#include "common/upload/spool_record.h"
#include "test/lib/log_fixture.h"
#include "test/lib/unit.h"

#define DATA "test/data/record_files/"
#define IDS "0000000000000001.ids"
#define SEGMENT "0000000000000003.segment"
#define SPOOL "0000000000000001.spool"
#define MAX_BYTES 1024

struct file {
	uint8_t bytes[MAX_BYTES];
	size_t len;
};

static struct file load(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct file f = {.len = 0};
	ssize_t n = read(fd, f.bytes, sizeof(f.bytes));

	assert_true(n > 0 && n < MAX_BYTES);
	f.len = (size_t)n;
	return f;
}

static void store(const char *path, const struct file *f)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, f->bytes, f->len), f->len);
}

TEST_FIXTURE(the_log_of_an_earlier_release_is_read, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	const struct file ids = load(DATA IDS), segment = load(DATA SEGMENT);
	struct log_fixture *f = *state;
	uint64_t uploads[4] = {0};

	log_fixture_put(f, IDS, ids.bytes, ids.len);
	log_fixture_put(f, SEGMENT, segment.bytes, segment.len);
	log_fixture_open(f, NULL);
	for (uint64_t n = 1; n <= 6; n++)
		assert_int_equal(upload_log_has(f->log, log_fixture_id(n)), n <= 5);
	assert_true(log_fixture_metric(f, "torn_bytes_total") > 0);
	assert_int_equal(log_fixture_metric(f, "damaged_segments_total"), 0);
	assert_int_equal(log_fixture_drain(f, uploads, 4), 3);
	for (uint64_t n = 0; n < 3; n++)
		assert_int_equal(uploads[n], n + 3);
}

/* A record file with the header of f, to which records are appended. */
static void begin_like(const struct file *f, int dir_fd, struct record_file *ret)
{
	AUTO_CLOSE int fd = openat(dir_fd, "again", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct record_file_header h;

	assert_int_equal(record_file_header_parse(&h, f->bytes, f->len), 0);
	assert_int_equal(write(fd, f->bytes, RECORD_FILE_HEADER_BYTES), RECORD_FILE_HEADER_BYTES);
	assert_int_equal(record_file_open(ret, dir_fd, "again", h.type, h.version), 0);
}

static void append(struct record_file *f, uint32_t kind, const void *payload, size_t len)
{
	const struct record_data d = {
		.kind = kind,
		.len = (uint32_t)len,
		.payload = payload,
		.sum = record_sum(payload, len),
	};

	assert_int_equal(record_file_append(f, &d, 1), 0);
}

static void assert_same(const char *dir, const struct file *expected)
{
	struct file f;
	char path[160];

	snprintf(path, sizeof(path), "%s/again", dir);
	f = load(path);
	assert_true(f.len >= expected->len);
	assert_memory_equal(f.bytes, expected->bytes, expected->len);
}

TEST_FIXTURE(the_log_is_written_as_by_an_earlier_release, log_fixture_setup_in_memory,
	     log_fixture_teardown)
{
	const struct file ids = load(DATA IDS), segment = load(DATA SEGMENT);
	const struct log_fixture *f = *state;
	AUTO_CLOSE int dir_fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct upload_id stored[] = {log_fixture_id(1), log_fixture_id(2)};
	struct record_file out;
	uint8_t payload[MAX_BYTES];

	begin_like(&segment, dir_fd, &out);
	for (uint64_t n = 3; n <= 6; n++) {
		uint64_t bytes[10] = {n};
		const struct logged_frames frame = {
			.table = STORE_SAMPLES,
			.frame = {.data = bytes,
				  .len = (10 * n / 8 + 1) * 8,
				  .n_rows = 1,
				  .n_bytes = 8},
		};

		upload_record_encode(payload, log_fixture_id(n), &frame, 1);
		append(&out, UPLOAD_RECORD_KIND, payload, upload_record_size(&frame, 1));
	}
	record_file_close(&out);
	assert_same(f->dir, &segment);

	begin_like(&ids, dir_fd, &out);
	/* of the segment 2, whose file is gone: its random id is in the record */
	ids_record_encode(payload, 2,
			  ids.bytes + RECORD_FILE_HEADER_BYTES + RECORD_HEADER_BYTES + 8, stored,
			  ARRAY_SIZE(stored));
	append(&out, IDS_RECORD_KIND, payload, ids_record_size(ARRAY_SIZE(stored)));
	record_file_close(&out);
	assert_same(f->dir, &ids);
}

/* Takes out profile n, which must be the next one. */
static void take(struct spool_files *files, uint64_t n, struct spool_place *place)
{
	CLEANUP(upload_item_unrefp) struct upload_item *item = NULL;
	char text[48];

	assert_int_equal(spool_files_take(files, &item, place), 0);
	snprintf(text, sizeof(text), "profile %llu", (unsigned long long)n);
	assert_string_equal(item->body, text);
	snprintf(text, sizeof(text), "service.name=s%llu", (unsigned long long)n);
	assert_string_equal(item->query, text);
	snprintf(text, sizeof(text), "%032llx", (unsigned long long)n);
	assert_string_equal(item->key.text, text);
	assert_int_equal(item->created_ns, 1000 + n);
	assert_int_equal(item->clock.own_ns, 5);
	assert_int_equal(item->clock.boot, 7);
	assert_int_equal(item->clock.correction_ns, -9);
	assert_true(item->clock.is_measured);
}

static struct spool_files *open_spool(const char *dir)
{
	const struct spool_files_config cfg = {.dir = dir, .max_bytes = 1 << 30};
	struct spool_files *files = NULL;
	struct err err = {""};

	if (spool_files_open(&files, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	return files;
}

TEST(the_spool_of_an_earlier_release_is_read_and_written)
{
	const struct file waiting = load(DATA SPOOL),
			  finished = load(DATA "0000000000000001.finished");
	const char *dir = temp_dir();
	char path[96];
	struct spool_place places[3], none;
	struct upload_item *item = NULL;
	struct spool_files *files;
	struct spool_state s;
	struct file now;

	snprintf(path, sizeof(path), "%s/profiles", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/profiles/" SPOOL, dir);
	store(path, &waiting);
	files = open_spool(dir);
	for (uint64_t n = 1; n <= 3; n++)
		take(files, n, &places[n - 1]);
	assert_int_equal(spool_files_take(files, &item, &none), -ENODATA);
	spool_files_state(files, &s);
	assert_int_equal(s.n_dropped_damaged, 0);
	spool_files_finish(files, &places[0]);
	spool_files_close(files);
	now = load(path);
	assert_int_equal(now.len, finished.len);
	assert_memory_equal(now.bytes, finished.bytes, finished.len);
	/* and the mark is understood */
	files = open_spool(dir);
	take(files, 2, &places[1]);
	spool_files_close(files);
}

TEST(the_spool_is_written_as_by_an_earlier_release)
{
	const struct file waiting = load(DATA SPOOL);
	const char *dir = temp_dir();
	AUTO_CLOSE int dir_fd = -1;
	struct record_file out;

	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	begin_like(&waiting, dir_fd, &out);
	for (uint64_t n = 1; n <= 4; n++) {
		CLEANUP(buf_fini) struct buf payload;
		char query[32], body[32];
		struct upload_item item = {
			.created_ns = 1000 + n,
			.clock = {.own_ns = 5, .boot = 7, .correction_ns = -9, .is_measured = true},
			.query = query,
			.body = body,
		};

		snprintf(item.key.text, sizeof(item.key.text), "%032llx", (unsigned long long)n);
		snprintf(query, sizeof(query), "service.name=s%llu", (unsigned long long)n);
		snprintf(body, sizeof(body), "profile %llu", (unsigned long long)n);
		item.body_len = strlen(body);
		buf_init(&payload, MAX_BYTES);
		assert_int_equal(spool_profile_encode(&payload, &item), 0);
		append(&out, SPOOL_RECORD_CLOCKED, payload.data, payload.len);
	}
	record_file_close(&out);
	assert_same(dir, &waiting);
}
