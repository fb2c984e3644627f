#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/system/open_files.h"
#include "test/lib/unit.h"

/* Runs in a child process, because only root can raise a hard limit again. */
TEST(the_soft_limit_becomes_the_hard_one)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit low = {40, 400};
		struct rlimit now;
		bool right;

		right = setrlimit(RLIMIT_NOFILE, &low) == 0 && open_files_raise() == 400 &&
			getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == 400 &&
			open_files_raise() == 400 && fcntl(0, F_DUPFD, 399) == 399;
		_exit(right ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* In a child process, too. */
TEST(too_low_a_limit_is_an_error_with_a_sentence)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit enough = {64, OPEN_FILES_MIN}, low = {64, 64};
		struct err err = {""};
		bool right;

		right = setrlimit(RLIMIT_NOFILE, &enough) == 0 && open_files_require(&err) == 0 &&
			setrlimit(RLIMIT_NOFILE, &low) == 0 &&
			open_files_require(&err) == -EMFILE &&
			strstr(err.msg, "only 64 files may be open, and 256 are needed");
		_exit(right ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST(a_share_leaves_something_for_the_others)
{
	static const size_t limits[] = {0, 1, 64, 128, 130, 131, 256, 1024, 65536, SIZE_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		assert_true(open_files_share(limits[i]) >= 1);
		assert_true(open_files_share(limits[i]) <= limits[i] / 2 + 1);
	}
	assert_int_equal(open_files_share(1024), 448);
}
