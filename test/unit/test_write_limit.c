/* The limit is for good, so each test uses a child, which exits with the line that failed. */
#include "common/privilege/write_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "test/lib/unit.h"

#define CHECK(condition)                 \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static const char *root;

static void in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn() & 255);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int limit(void)
{
	CHECK(chdir(root) == 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(write_limit_to("data") == 0);
	return 0;
}

static int create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int write_inside(void)
{
	CHECK(limit() == 0);
	CHECK(create("data/new") == 0);
	CHECK(mkdir("data/a", 0700) == 0 && mkdir("data/b", 0700) == 0);
	CHECK(create("data/a/file") == 0);
	CHECK(rename("data/a/file", "data/b/file") == 0);
	CHECK(link("data/b/file", "data/a/second") == 0);
	CHECK(truncate("data/b/file", 0) == 0);
	CHECK(unlink("data/b/file") == 0 && rmdir("data/b") == 0);
	CHECK(create("/dev/null") == 0);
	return 0;
}

static int write_outside(void)
{
	CHECK(limit() == 0);
	CHECK(create("new") == -EACCES);
	CHECK(create("old") == -EACCES);
	CHECK(create("data/../old") == -EACCES);
	CHECK(create("data/to-old") == -EACCES); /* a symbolic link */
	CHECK(create("data/to-new") == -EACCES);
	CHECK(mkdir("dir", 0700) < 0 && errno == EACCES);
	CHECK(unlink("old") < 0 && errno == EACCES);
	CHECK(symlink("x", "link") < 0 && errno == EACCES);
	CHECK(rename("old", "data/stolen") < 0);
	CHECK(rename("data/to-old", "given") < 0);
	CHECK(create("/dev/test_write_limit") == -EACCES);
	return 0;
}

static int read_on(void)
{
	int fd;

	CHECK(limit() == 0);
	fd = open("old", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	close(fd);
	fd = memfd_create("rows", MFD_CLOEXEC);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1);
	return 0;
}

static void *create_new(void *result)
{
	*(int *)result = create("new");
	return NULL;
}

static int start_thread(void)
{
	pthread_t thread;
	int result = 0;

	CHECK(limit() == 0);
	CHECK(pthread_create(&thread, NULL, create_new, &result) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(result == -EACCES);
	return 0;
}

static int miss_the_directory(void)
{
	CHECK(chdir(root) == 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(write_limit_to("absent") == -ENOENT);
	CHECK(create("new") == 0);
	return 0;
}

TEST(the_directory_can_be_written)
{
	in_child(write_inside);
}

TEST(nothing_else_can)
{
	in_child(write_outside);
}

TEST(everything_can_be_read)
{
	in_child(read_on);
}

TEST(threads_inherit_it)
{
	in_child(start_thread);
}

TEST(without_the_directory_nothing_changes)
{
	in_child(miss_the_directory);
}

static int set_up(void **state)
{
	char path[128];

	(void)state;
	root = temp_dir();
	snprintf(path, sizeof(path), "%s/old", root);
	if (create(path) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/data", root);
	if (mkdir(path, 0700) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/data/to-old", root);
	if (symlink("../old", path) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/data/to-new", root);
	return symlink("../new", path);
}

GROUP_FIXTURE(set_up, NULL)
