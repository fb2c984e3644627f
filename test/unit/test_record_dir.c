/* A directory of record files: which names are ours, and what is read of a file. */
#include "common/system/record_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "test/lib/unit.h"

enum kind {
	RED,
	BLUE,
	OLD, /* of which nothing is read */
	N_KINDS,
};

static const struct record_kind kinds[N_KINDS] = {
	[RED] = {".red", 11, 2},
	[BLUE] = {".blue", 12, 1},
	[OLD] = {.suffix = ".old"},
};

struct fixture {
	const char *path;
	struct record_dir dir;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->path = temp_dir();
	f->dir = (struct record_dir){.kinds = kinds, .n_kinds = N_KINDS};
	f->dir.fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->dir.fd >= 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close(f->dir.fd);
	assert_int_equal(remove_tree(f->path), 0);
	free(f);
	return 0;
}

/* A file with that text, which may be empty. */
static void put(const struct fixture *f, const char *name, const char *text)
{
	AUTO_CLOSE int fd = openat(f->dir.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* A file with one record. */
static void put_record(const struct fixture *f, uint64_t number, enum kind kind, const char *text)
{
	struct record_file file;

	assert_int_equal(record_dir_create(&file, &f->dir, number, kind), 0);
	assert_int_equal(record_file_add(&file, 7, text, strlen(text)), 0);
	record_file_close(&file);
}

static int try_load(const struct record_dir *d, uint64_t number, enum kind kind)
{
	AUTO_FREE char *bytes = NULL;
	struct record_cursor c;

	return record_dir_load(d, number, kind, 4096, &bytes, &c);
}

TEST_FIXTURE(only_names_of_ours_are_listed_by_their_numbers, set_up, tear_down)
{
	static const char *const others[] = {
		"LOCK",
		"red",
		".red",
		"1.red",
		"000000000000000A.red",
		"0000000000000001.green",
		"0000000000000001.red.new",
		"00000000000000001.red",
		"0000000000000001red",
		"0000000000000001",
	};
	const struct fixture *f = *state;
	AUTO_FREE struct record_dir_file *files = NULL;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		put(f, others[i], "");
	put(f, "ffffffffffffffff.red", "");
	put(f, "000000000000000a.old", "abc");
	put(f, "0000000000000009.blue", "");
	put(f, "0000000000000009.red", "");
	assert_int_equal(mkdirat(f->dir.fd, "0000000000000002.red", 0700), 0);
	assert_int_equal(record_dir_list(&f->dir, &files, &n), 0);
	assert_int_equal(n, 5);
	assert_int_equal(files[0].number, 2);
	assert_int_equal(files[0].kind, N_KINDS);
	assert_int_equal(files[1].number, 9);
	assert_int_equal(files[1].kind, RED);
	assert_int_equal(files[2].kind, BLUE);
	assert_int_equal(files[3].number, 10);
	assert_int_equal(files[3].kind, OLD);
	assert_int_equal(files[3].n_bytes, 3);
	assert_int_equal(files[4].number, UINT64_MAX);
}

TEST_FIXTURE(a_file_is_read_up_to_its_limit_and_only_as_what_it_is, set_up, tear_down)
{
	const struct fixture *f = *state;
	struct record_dir old = f->dir;
	struct record_kind old_kinds[N_KINDS];
	AUTO_FREE char *bytes = NULL;
	AUTO_FREE char *part = NULL;
	struct record_cursor c;
	struct record r;

	put_record(f, 3, RED, "hello");
	assert_int_equal(record_dir_load(&f->dir, 3, RED, 4096, &bytes, &c), 0);
	assert_true(record_cursor_read(&c, &r));
	assert_int_equal(r.kind, 7);
	assert_memory_equal(r.payload, "hello", r.len);
	assert_false(record_cursor_read(&c, &r));
	assert_int_equal(c.n_damaged, 0);
	assert_int_equal(c.offset, c.len);

	assert_int_equal(record_dir_load(&f->dir, 3, RED, c.len - 1, &part, &c), 0);
	assert_false(record_cursor_read(&c, &r));
	assert_int_equal(c.offset, RECORD_FILE_HEADER_BYTES);

	assert_int_equal(record_dir_rename(&f->dir, 3, RED, BLUE), 0);
	assert_int_equal(try_load(&f->dir, 3, RED), -ENOENT);
	assert_int_equal(try_load(&f->dir, 3, BLUE), -EBADMSG);
	assert_int_equal(record_dir_rename(&f->dir, 3, BLUE, RED), 0);
	memcpy(old_kinds, kinds, sizeof(kinds));
	old_kinds[RED].version = 1;
	old.kinds = old_kinds;
	assert_int_equal(try_load(&old, 3, RED), -EPROTONOSUPPORT);
}

TEST_FIXTURE(a_file_that_was_not_begun_is_told_from_a_damaged_one, set_up, tear_down)
{
	const struct fixture *f = *state;
	char text[RECORD_FILE_HEADER_BYTES + 2];

	for (size_t len = 0; len <= RECORD_FILE_HEADER_BYTES + 1; len++) {
		memset(text, 'x', len);
		text[len] = '\0';
		put(f, "0000000000000001.red", text);
		assert_int_equal(try_load(&f->dir, 1, RED),
				 len <= RECORD_FILE_HEADER_BYTES ? -ENODATA : -EBADMSG);
	}
	assert_int_equal(record_dir_remove(&f->dir, 1, RED), 0);
	assert_int_equal(record_dir_remove(&f->dir, 1, RED), 0);
	assert_int_equal(record_dir_rename(&f->dir, 1, RED, OLD), 0);
}

TEST_FIXTURE(links_and_directories_are_not_read, set_up, tear_down)
{
	const struct fixture *f = *state;

	put_record(f, 1, RED, "hello");
	assert_int_equal(symlinkat("0000000000000001.red", f->dir.fd, "0000000000000002.red"), 0);
	assert_int_equal(mkdirat(f->dir.fd, "0000000000000003.red", 0700), 0);
	assert_int_equal(try_load(&f->dir, 1, RED), 0);
	assert_int_equal(try_load(&f->dir, 2, RED), -ELOOP);
	assert_int_equal(try_load(&f->dir, 3, RED), -EISDIR);
}

static int load_without_memory(void *arg)
{
	return try_load(arg, 1, RED);
}

TEST_FIXTURE(without_memory_nothing_is_lost, set_up, tear_down)
{
	struct fixture *f = *state;

	put_record(f, 1, RED, "hello");
	check_oom(load_without_memory, &f->dir);
}
