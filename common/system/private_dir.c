#include "common/system/private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/system/clock.h"

#define POLL_US 100000

/* ---- open ---- */

/* With a slash at the end, a symbolic link would be followed. */
static size_t length_without_slashes(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return len;
}

/* Returns a descriptor, or -errno with a sentence in err. */
static int make_or_open(int at, const char *path, unsigned rules, const char *name, struct err *err)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	AUTO_CLOSE int fd = -1;
	bool is_new = false;
	struct stat st;

	if (rules & PRIVATE_DIR_NO_LINK)
		flags |= O_NOFOLLOW;
	fd = openat(at, path, flags);
	if (fd < 0 && errno == ENOENT) {
		is_new = mkdirat(at, path, 0700) == 0;
		if (!is_new && errno != EEXIST)
			return err_set(err, -errno, "create %s: %m", name);
		fd = openat(at, path, flags);
	}
	if (fd < 0) {
		int r = -errno;

		if ((rules & PRIVATE_DIR_NO_LINK) &&
		    fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
			return err_set(err, r, "%s is a symbolic link, which is not followed",
				       name);
		return err_set(err, r, "open %s: %s", name, strerror(-r));
	}
	if (is_new && (rules & PRIVATE_DIR_DURABLE)) {
		AUTO_CLOSE int parent = openat(fd, "..", O_RDONLY | O_CLOEXEC);

		if (parent < 0 || fsync(parent) < 0)
			return err_set(err, -errno, "sync the parent of %s: %m", name);
	}
	return TAKE_FD(fd);
}

static int make_private(int fd, unsigned rules, const char *name, struct err *err)
{
	uid_t own = geteuid();
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "read %s: %m", name);
	if (st.st_uid != own &&
	    ((rules & PRIVATE_DIR_OURS) || ((rules & PRIVATE_DIR_OURS_OR_ROOT) && st.st_uid != 0)))
		return err_set(err, -EPERM, "%s belongs to user %u", name, st.st_uid);
	if ((rules & PRIVATE_DIR_UNSHARED) && (st.st_mode & (S_IWGRP | S_IWOTH)))
		return err_set(err, -EPERM, "others may write to %s", name);
	if ((rules & PRIVATE_DIR_CLOSE) && (st.st_mode & 07777) != 0700 && fchmod(fd, 0700) < 0)
		return err_set(err, -errno, "make %s private: %m", name);
	return 0;
}

int private_dir_open(int at, const char *path, unsigned rules, const char *name, struct err *err)
{
	AUTO_FREE char *own = strndup(path, length_without_slashes(path));
	AUTO_CLOSE int fd = -1;
	int r;

	if (!own)
		return err_set(err, -ENOMEM, "out of memory");
	fd = make_or_open(at, own, rules, name, err);
	r = fd < 0 ? fd : make_private(fd, rules, name, err);
	return r < 0 ? r : TAKE_FD(fd);
}

/* ---- lock ---- */

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

/* Returns 0 or as private_dir_lock(). */
static int lock_file(int fd, uint64_t wait_ns, uint64_t *ret_owner)
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

int private_dir_lock(int dir_fd, const char *file, uint64_t wait_ns, uint64_t *ret_owner)
{
	/* O_NONBLOCK: a FIFO of this name must not make us wait */
	AUTO_CLOSE int fd =
		openat(dir_fd, file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : lock_file(fd, wait_ns, ret_owner);

	return r < 0 ? r : TAKE_FD(fd);
}
