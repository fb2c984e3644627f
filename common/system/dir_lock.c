#include "common/system/dir_lock.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>

#include "common/system/clock.h"

#define POLL_US 100000

/* Returns the pid that the lock's holder wrote into the file, or 0 if it cannot be read. */
static uint64_t read_owner(int fd)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	uint64_t pid = 0;

	for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		pid = pid * 10 + (uint64_t)(text[i] - '0');
	return pid <= INT32_MAX ? pid : 0;
}

static bool shall_end(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

static int wait_for_lock(int fd, uint64_t wait_ns)
{
	uint64_t end_ns = clock_monotonic_ns() + wait_ns;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (clock_monotonic_ns() >= end_ns)
			return -EBUSY;
		if (shall_end())
			return -EINTR;
		usleep(POLL_US);
	}
	return 0;
}

int dir_lock(int fd, uint64_t wait_ns, uint64_t *ret_owner)
{
	char pid[32];
	int n, r;

	r = wait_for_lock(fd, wait_ns);
	if (r == -EBUSY && ret_owner)
		*ret_owner = read_owner(fd);
	if (r < 0)
		return r;
	n = snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) != n)
		return errno ? -errno : -EIO;
	return 0;
}
