/* Record files on disk. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/system/record_file.h"
#include "test/lib/log_fixture.h"
#include "test/lib/unit.h"

#define TYPE 9u
#define VERSION 2u

struct folder {
	struct log_fixture *fixture;
	int fd;
};

static void open_folder(struct folder *f, void **state)
{
	f->fixture = *state;
	f->fd = open(f->fixture->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
}

static struct record_data data_of(uint32_t kind, const void *payload, uint32_t len)
{
	return (struct record_data){
		.kind = kind, .len = len, .payload = payload, .sum = record_sum(payload, len)};
}

static int add(struct record_file *f, const char *text)
{
	const struct record_data d = data_of(1, text, (uint32_t)strlen(text));

	return record_file_append(f, &d, 1);
}

static void assert_reads(struct record_file *f, uint64_t offset, const char *text)
{
	struct record r;
	struct buf out;

	buf_init(&out, 1000);
	assert_int_equal(record_file_read(f, offset, &r, &out), 0);
	assert_int_equal(r.len, strlen(text));
	assert_int_equal(out.len, r.len);
	assert_memory_equal(out.data, text, r.len);
	buf_fini(&out);
}

TEST_FIXTURE(test_records_are_read_where_they_were_appended, log_fixture_setup,
	     log_fixture_teardown)
{
	struct record_file file, again;
	struct folder f;
	struct record r;
	struct stat st;
	uint64_t second;
	struct buf out;

	open_folder(&f, state);
	assert_int_equal(record_file_create(&file, f.fd, "a", TYPE, VERSION), 0);
	assert_int_equal(file.end, RECORD_FILE_HEADER_BYTES);
	assert_int_equal(record_file_create(&again, f.fd, "a", TYPE, VERSION), -EEXIST);
	assert_int_equal(fstat(file.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(add(&file, "one"), 0);
	second = file.end;
	assert_int_equal(add(&file, "the second"), 0);
	assert_int_equal(record_file_sync(&file), 0);

	assert_int_equal(record_file_open(&again, f.fd, "a", TYPE, VERSION), 0);
	assert_int_equal(again.end, file.end);
	assert_memory_equal(again.header.id, file.header.id, 16);
	assert_reads(&again, RECORD_FILE_HEADER_BYTES, "one");
	assert_reads(&again, second, "the second");
	buf_init(&out, 5);
	assert_int_equal(record_file_read(&again, again.end, &r, &out), -ENODATA);
	assert_int_equal(record_file_read(&again, second + 8, &r, &out), -EBADMSG);
	assert_int_equal(record_file_read(&again, second, &r, &out), -EFBIG);
	assert_int_equal(out.len, 0);
	buf_fini(&out);
	assert_int_equal(record_file_cut(&again, second), 0);
	assert_int_equal(add(&again, "another"), 0);
	assert_reads(&again, second, "another");
	record_file_close(&again);
	record_file_close(&file);
	close(f.fd);
}

/* More than one call takes. */
TEST_FIXTURE(test_many_records_are_appended_at_once, log_fixture_setup, log_fixture_teardown)
{
	struct record_data d[1000];
	uint32_t numbers[1000];
	struct record_file file;
	struct folder f;
	uint64_t at = RECORD_FILE_HEADER_BYTES;

	open_folder(&f, state);
	assert_int_equal(record_file_create(&file, f.fd, "a", TYPE, VERSION), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(d); i++) {
		numbers[i] = i;
		d[i] = data_of(i, &numbers[i], sizeof(numbers[i]));
	}
	assert_int_equal(record_file_append(&file, d, ARRAY_SIZE(d)), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(d); i++) {
		struct record r;
		struct buf out;

		buf_init(&out, 100);
		assert_int_equal(record_file_read(&file, at, &r, &out), 0);
		assert_int_equal(r.kind, i);
		assert_memory_equal(out.data, &i, sizeof(i));
		buf_fini(&out);
		at += record_size(sizeof(i));
	}
	assert_int_equal(at, file.end);
	record_file_close(&file);
	close(f.fd);
}

TEST_FIXTURE(test_a_failed_append_leaves_the_file_as_it_was, log_fixture_setup,
	     log_fixture_teardown)
{
	const struct rlimit small = {.rlim_cur = 300, .rlim_max = RLIM_INFINITY};
	char payload[100] = {0};
	struct record_data d[3];
	struct record_file file;
	struct rlimit before;
	struct folder f;
	struct stat st;
	uint64_t end;

	open_folder(&f, state);
	assert_int_equal(record_file_create(&file, f.fd, "a", TYPE, VERSION), 0);
	assert_int_equal(add(&file, "one"), 0);
	end = file.end;
	for (size_t i = 0; i < 3; i++)
		d[i] = data_of(1, payload, sizeof(payload));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(record_file_append(&file, d, 3), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(file.end, end);
	assert_false(file.is_closed);
	assert_int_equal(fstat(file.fd, &st), 0);
	assert_int_equal(st.st_size, end);
	assert_int_equal(add(&file, "two"), 0);
	assert_reads(&file, end, "two");
	record_file_close(&file);
	close(f.fd);
}

TEST_FIXTURE(test_files_that_are_something_else_are_not_opened, log_fixture_setup,
	     log_fixture_teardown)
{
	struct record_file file;
	struct folder f;

	open_folder(&f, state);
	assert_int_equal(record_file_create(&file, f.fd, "a", TYPE, VERSION), 0);
	record_file_close(&file);
	assert_int_equal(record_file_open(&file, f.fd, "none", TYPE, VERSION), -ENOENT);
	assert_int_equal(record_file_open(&file, f.fd, "a", TYPE + 1, VERSION), -EBADMSG);
	assert_int_equal(record_file_open(&file, f.fd, "a", TYPE, VERSION - 1), -EPROTONOSUPPORT);
	log_fixture_put(f.fixture, "text", "not ours", 8);
	assert_int_equal(record_file_open(&file, f.fd, "text", TYPE, VERSION), -EBADMSG);
	assert_int_equal(symlinkat("a", f.fd, "link"), 0);
	assert_int_equal(record_file_open(&file, f.fd, "link", TYPE, VERSION), -ELOOP);
	assert_int_equal(unlinkat(f.fd, "link", 0), 0);
	assert_int_equal(mkfifoat(f.fd, "fifo", 0600), 0);
	assert_int_equal(record_file_open(&file, f.fd, "fifo", TYPE, VERSION), -EBADMSG);
	assert_int_equal(unlinkat(f.fd, "fifo", 0), 0);
	close(f.fd);
}
