#include <errno.h>
#include <fcntl.h>

#include "common/system/fs.h"
#include "test/lib/unit.h"

static int make_file(char *path, size_t len)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(write(fd, "x", 1), 1);
	return fd;
}

TEST(reads_up_to_the_limit_and_says_when_there_is_more)
{
	char path[] = "/tmp/test_fs.XXXXXX";
	AUTO_CLOSE int fd = make_file(path, 100);
	CLEANUP(buf_fini) struct buf exact, less;

	buf_init(&exact, 100);
	buf_init(&less, 99);
	assert_int_equal(fs_read_at(AT_FDCWD, path, &exact), 0);
	assert_int_equal(exact.len, 100);
	assert_int_equal(fs_read_at(AT_FDCWD, path, &less), -EFBIG);
	assert_int_equal(less.len, 99);
	unlink(path);
	assert_int_equal(fs_read_at(AT_FDCWD, path, &exact), -ENOENT);
}

struct names {
	const char *last; /* this name ends the listing; NULL: none */
	unsigned n;
};

static int see_name(void *ctx, const char *name)
{
	struct names *names = ctx;

	assert_string_not_equal(name, ".");
	assert_string_not_equal(name, "..");
	names->n++;
	return names->last && strcmp(name, names->last) == 0 ? 7 : 0;
}

TEST(lists_the_names_of_a_directory_until_told_to_stop)
{
	const char *path = temp_dir();
	AUTO_CLOSE int dir_fd = -1, file_fd = -1;
	struct names all = {NULL, 0}, again = {NULL, 0}, some = {".b", 0};

	dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir_fd >= 0);
	assert_int_equal(fs_each_name(dir_fd, see_name, &all), 0);
	assert_int_equal(all.n, 0);
	assert_int_equal(mkdirat(dir_fd, "a", 0700), 0);
	file_fd = openat(dir_fd, ".b", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fs_each_name(dir_fd, see_name, &all), 0);
	assert_int_equal(all.n, 2);
	assert_int_equal(fs_each_name(dir_fd, see_name, &again), 0);
	assert_int_equal(again.n, 2);
	assert_int_equal(fs_each_name(dir_fd, see_name, &some), 7);
	assert_int_equal(fs_each_name(file_fd, see_name, &some), -ENOTDIR);
	assert_int_equal(unlinkat(dir_fd, "a", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(dir_fd, ".b", 0), 0);
	assert_int_equal(rmdir(path), 0);
}

static int read_status(void *arg)
{
	CLEANUP(buf_fini) struct buf text;

	(void)arg;
	buf_init(&text, 65536);
	return fs_read_at(AT_FDCWD, "/proc/self/status", &text);
}

TEST(survives_every_failed_allocation)
{
	check_oom(read_status, NULL);
}
