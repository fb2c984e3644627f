#include "common/system/dir_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "test/lib/unit.h"

#define LONG_NS (600 * NS_PER_S) /* never waited for */

struct fixture {
	char path[32];
	int fd;
	pid_t holder;
	int release; /* closing it ends the holder */
};

/* A process that has locked the file, and ends when f->release is closed. */
static void start_holder(struct fixture *f)
{
	int ready[2], release[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(release), 0);
	f->holder = fork();
	assert_true(f->holder >= 0);
	if (f->holder == 0) {
		int fd = open(f->path, O_RDWR | O_CLOEXEC);

		close(release[1]);
		close(f->fd);
		if (dir_lock(fd, 0, NULL) < 0 || write(ready[1], "", 1) != 1)
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
	snprintf(f->path, sizeof(f->path), "/tmp/dir-lock-XXXXXX");
	f->fd = mkstemp(f->path);
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
	unlink(f->path);
	close(f->fd);
	free(f);
	return 0;
}

TEST_FIXTURE(names_the_process_that_has_it, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t owner = 0;

	start_holder(f);
	assert_int_equal(dir_lock(f->fd, 0, &owner), -EBUSY);
	assert_int_equal(owner, f->holder);
}

TEST_FIXTURE(says_nothing_of_a_pid_that_is_none, set_up, tear_down)
{
	struct fixture *f = *state;
	int other = open(f->path, O_RDWR | O_CLOEXEC);
	uint64_t owner = 1;

	assert_int_equal(dir_lock(other, 0, NULL), 0);
	assert_int_equal(pwrite(other, "99999999999999999999", 20, 0), 20);
	assert_int_equal(dir_lock(f->fd, 0, &owner), -EBUSY);
	assert_int_equal(owner, 0);
	close(other);
}

TEST_FIXTURE(waits_for_the_process_to_end, set_up, tear_down)
{
	struct fixture *f = *state;
	pid_t ender;

	start_holder(f);
	ender = fork();
	assert_true(ender >= 0);
	if (ender == 0) {
		usleep(200000);
		kill(f->holder, SIGKILL);
		_exit(0);
	}
	assert_int_equal(dir_lock(f->fd, LONG_NS, NULL), 0);
	assert_int_equal(waitpid(ender, NULL, 0), ender);
}

TEST_FIXTURE(gives_up_in_the_end, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t owner = 0;

	start_holder(f);
	assert_int_equal(dir_lock(f->fd, NS_PER_S / 5, &owner), -EBUSY);
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
	assert_int_equal(dir_lock(f->fd, LONG_NS, NULL), -EINTR);
	/* it is left for the loop */
	assert_int_equal(sigtimedwait(&term, NULL, &none), SIGTERM);
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &term, NULL), 0);
}
