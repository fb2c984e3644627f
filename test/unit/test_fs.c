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

static void reads_up_to_the_limit_and_says_when_there_is_more(void **state)
{
	char path[] = "/tmp/test_fs.XXXXXX";
	AUTO_CLOSE int fd = make_file(path, 100);
	CLEANUP(buf_fini) struct buf exact, less;

	(void)state;
	buf_init(&exact, 100);
	buf_init(&less, 99);
	assert_int_equal(fs_read_at(AT_FDCWD, path, &exact), 0);
	assert_int_equal(exact.len, 100);
	assert_int_equal(fs_read_at(AT_FDCWD, path, &less), -EFBIG);
	assert_int_equal(less.len, 99);
	unlink(path);
	assert_int_equal(fs_read_at(AT_FDCWD, path, &exact), -ENOENT);
}

static int read_status(void *arg)
{
	CLEANUP(buf_fini) struct buf text;

	(void)arg;
	buf_init(&text, 65536);
	return fs_read_at(AT_FDCWD, "/proc/self/status", &text);
}

static void survives_every_failed_allocation(void **state)
{
	(void)state;
	check_oom(read_status, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_up_to_the_limit_and_says_when_there_is_more),
		cmocka_unit_test(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
