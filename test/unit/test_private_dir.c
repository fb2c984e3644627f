#include "common/system/private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "test/lib/unit.h"

#define LONG_NS (600 * NS_PER_S) /* never waited for */

#define LOCK "LOCK"

struct fixture {
	const char *dir;
	int fd; /* of it */
	pid_t holder;
	int release; /* closing it ends the holder */
};

/* A process that has locked the directory, and ends when f->release is closed. */
static void start_holder(struct fixture *f)
{
	int ready[2], release[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(release), 0);
	f->holder = fork();
	assert_true(f->holder >= 0);
	if (f->holder == 0) {
		close(release[1]);
		if (private_dir_lock(f->fd, LOCK, 0, NULL) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(release[0], &byte, 1) == 0 ? 0 : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(release[0]);
	f->release = release[1];
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->dir = temp_dir();
	f->fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	f->release = -1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->release >= 0)
		close(f->release);
	if (f->holder > 0)
		assert_int_equal(waitpid(f->holder, NULL, 0), f->holder);
	unlinkat(f->fd, LOCK, 0);
	unlinkat(f->fd, "link", 0);
	unlinkat(f->fd, "new", AT_REMOVEDIR);
	close(f->fd);
	assert_int_equal(rmdir(f->dir), 0);
	free(f);
	return 0;
}

TEST_FIXTURE(names_the_process_that_has_it, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t owner = 0;

	start_holder(f);
	assert_int_equal(private_dir_lock(f->fd, LOCK, 0, &owner), -EBUSY);
	assert_int_equal(owner, f->holder);
}

TEST_FIXTURE(says_nothing_of_a_pid_that_is_none, set_up, tear_down)
{
	struct fixture *f = *state;
	int other = private_dir_lock(f->fd, LOCK, 0, NULL);
	uint64_t owner = 1;

	assert_true(other >= 0);
	assert_int_equal(pwrite(other, "99999999999999999999", 20, 0), 20);
	assert_int_equal(private_dir_lock(f->fd, LOCK, 0, &owner), -EBUSY);
	assert_int_equal(owner, 0);
	close(other);
}

TEST_FIXTURE(waits_for_the_process_to_end, set_up, tear_down)
{
	struct fixture *f = *state;
	int lock_fd;
	pid_t ender;

	start_holder(f);
	ender = fork();
	assert_true(ender >= 0);
	if (ender == 0) {
		usleep(200000);
		kill(f->holder, SIGKILL);
		_exit(0);
	}
	lock_fd = private_dir_lock(f->fd, LOCK, LONG_NS, NULL);
	assert_true(lock_fd >= 0);
	close(lock_fd);
	assert_int_equal(waitpid(ender, NULL, 0), ender);
}

TEST_FIXTURE(gives_up_in_the_end, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t owner = 0;

	start_holder(f);
	assert_int_equal(private_dir_lock(f->fd, LOCK, NS_PER_S / 5, &owner), -EBUSY);
	assert_int_equal(owner, f->holder);
}

TEST_FIXTURE(a_blocked_signal_ends_the_wait, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct timespec none = {0};
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &term, NULL), 0);
	start_holder(f);
	raise(SIGTERM);
	assert_int_equal(private_dir_lock(f->fd, LOCK, LONG_NS, NULL), -EINTR);
	/* it is left for the loop */
	assert_int_equal(sigtimedwait(&term, NULL, &none), SIGTERM);
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &term, NULL), 0);
}

/* Opens "new" or "link" in the fixture's directory, and closes it. */
static int try_open(const struct fixture *f, const char *path, unsigned rules, struct err *err)
{
	AUTO_CLOSE int fd = -1;

	*err = (struct err){""};
	fd = private_dir_open(f->fd, path, rules, "the place", err);
	return fd < 0 ? fd : 0;
}

static mode_t mode_of(const struct fixture *f, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(f->fd, path, &st, 0), 0);
	return st.st_mode & 07777;
}

TEST_FIXTURE(an_absent_directory_is_made_for_us_alone, set_up, tear_down)
{
	const struct fixture *f = *state;
	mode_t mask = umask(0);
	struct err err;

	assert_int_equal(try_open(f, "new/", PRIVATE_DIR_DURABLE, &err), 0);
	umask(mask);
	assert_int_equal(mode_of(f, "new"), 0700);
	assert_int_equal(try_open(f, "new/below/it", 0, &err), -ENOENT);
	assert_string_equal(err.msg, "create the place: No such file or directory");
	assert_int_equal(try_open(f, LOCK, 0, &err), 0);
	assert_int_equal(unlinkat(f->fd, LOCK, AT_REMOVEDIR), 0);
}

TEST_FIXTURE(a_link_is_followed_unless_that_is_forbidden, set_up, tear_down)
{
	const struct fixture *f = *state;
	struct err err;

	assert_int_equal(mkdirat(f->fd, "new", 0700), 0);
	assert_int_equal(symlinkat("new", f->fd, "link"), 0);
	assert_int_equal(try_open(f, "link", PRIVATE_DIR_OURS, &err), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(try_open(f, i ? "link///" : "link", PRIVATE_DIR_NO_LINK, &err) < 0);
		assert_string_equal(err.msg, "the place is a symbolic link, which is not followed");
	}
	assert_int_equal(unlinkat(f->fd, "link", 0), 0);
	assert_int_equal(symlinkat("nowhere/at/all", f->fd, "link"), 0);
	assert_true(try_open(f, "link", PRIVATE_DIR_NO_LINK, &err) < 0);
	assert_true(try_open(f, "link", 0, &err) < 0);
}

TEST_FIXTURE(what_is_no_directory_is_refused, set_up, tear_down)
{
	const struct fixture *f = *state;
	struct err err;

	assert_int_equal(mknodat(f->fd, LOCK, S_IFIFO | 0600, 0), 0);
	assert_int_equal(try_open(f, LOCK, 0, &err), -ENOTDIR);
	assert_string_equal(err.msg, "open the place: Not a directory");
}

TEST_FIXTURE(a_directory_that_others_can_write_to_is_closed_or_refused, set_up, tear_down)
{
	const struct fixture *f = *state;
	struct err err;

	assert_int_equal(mkdirat(f->fd, "new", 0700), 0);
	assert_int_equal(fchmodat(f->fd, "new", 0770, 0), 0);
	assert_int_equal(try_open(f, "new", PRIVATE_DIR_OURS, &err), 0);
	assert_int_equal(try_open(f, "new", PRIVATE_DIR_UNSHARED, &err), -EPERM);
	assert_string_equal(err.msg, "others may write to the place");
	assert_int_equal(mode_of(f, "new"), 0770);
	assert_int_equal(try_open(f, "new", PRIVATE_DIR_CLOSE, &err), 0);
	assert_int_equal(mode_of(f, "new"), 0700);
	assert_int_equal(try_open(f, "new", PRIVATE_DIR_UNSHARED, &err), 0);
}

TEST_FIXTURE(a_directory_of_somebody_else_is_refused, set_up, tear_down)
{
	const struct fixture *f = *state;
	struct err err;

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdirat(f->fd, "new", 0700), 0);
	assert_int_equal(try_open(f, "new", PRIVATE_DIR_OURS | PRIVATE_DIR_OURS_OR_ROOT, &err), 0);
	assert_int_equal(fchownat(f->fd, "new", 1234, 1234, 0), 0);
	assert_int_equal(try_open(f, "new", PRIVATE_DIR_OURS, &err), -EPERM);
	assert_string_equal(err.msg, "the place belongs to user 1234");
	assert_int_equal(try_open(f, "new", PRIVATE_DIR_OURS_OR_ROOT, &err), -EPERM);
	assert_int_equal(try_open(f, "new", 0, &err), 0);
}

TEST_FIXTURE(a_pipe_of_the_name_of_the_lock_holds_up_nothing, set_up, tear_down)
{
	const struct fixture *f = *state;

	assert_int_equal(mknodat(f->fd, LOCK, S_IFIFO | 0600, 0), 0);
	assert_true(private_dir_lock(f->fd, LOCK, 0, NULL) < 0);
}
