#include "common/upload/spool_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/system/dir_lock.h"

#define NAME "profiles"
#define LOCK "lock"
#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Creates the directory unless there is one, and opens it. Returns the descriptor or -errno. */
static int make_and_open(int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST) {
		int r = -errno;

		/* of a read-only file system it may be there all the same */
		fd = openat(parent, name, OPEN_DIR);
		return fd >= 0 ? fd : r;
	}
	fd = openat(parent, name, OPEN_DIR);
	return fd >= 0 ? fd : -errno;
}

static int open_parent(const char *dir, struct err *err)
{
	AUTO_FREE char *path = strdup(dir);
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (!path)
		return err_set(err, -ENOMEM, "out of memory");
	/* with a slash at the end, a symbolic link would be followed */
	for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	fd = make_and_open(AT_FDCWD, path);
	if (fd < 0 && fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		return err_set(err, fd, "%s is a symbolic link, which is not followed", dir);
	if (fd < 0)
		return err_set(err, fd, "%s: %s", dir, strerror(-fd));
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s: %m", dir);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return err_set(err, -EPERM, "%s belongs to user %u", dir, st.st_uid);
	return TAKE_FD(fd);
}

static int open_own(int parent, const char *dir, struct err *err)
{
	AUTO_CLOSE int fd = make_and_open(parent, NAME);
	struct stat st;

	if (fd < 0)
		return err_set(err, fd, "%s/" NAME ": %s", dir, strerror(-fd));
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s/" NAME ": %m", dir);
	if (st.st_uid != geteuid())
		return err_set(err, -EPERM, "%s/" NAME " belongs to user %u", dir, st.st_uid);
	if ((st.st_mode & 07777) != 0700 && fchmod(fd, 0700) < 0)
		return err_set(err, -errno, "%s/" NAME ": chmod: %m", dir);
	return TAKE_FD(fd);
}

static int lock(int fd, const char *dir, struct err *err)
{
	AUTO_CLOSE int lock_fd =
		openat(fd, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	int r;

	if (lock_fd < 0)
		return err_set(err, -errno, "%s/" NAME "/" LOCK ": %m", dir);
	r = dir_lock(lock_fd, 0, NULL);
	if (r == -EBUSY)
		return err_set(err, r, "%s is used by another process", dir);
	if (r < 0)
		return err_set(err, r, "%s/" NAME "/" LOCK ": lock: %s", dir, strerror(-r));
	return TAKE_FD(lock_fd);
}

int spool_dir_open(struct spool_dir *ret, const char *dir, struct err *err)
{
	CLEANUP(spool_dir_close) struct spool_dir d = SPOOL_DIR_NONE;
	AUTO_CLOSE int parent = open_parent(dir, err);

	if (parent < 0)
		return parent;
	d.fd = open_own(parent, dir, err);
	if (d.fd < 0)
		return d.fd;
	d.lock_fd = lock(d.fd, dir, err);
	if (d.lock_fd < 0)
		return d.lock_fd;
	*ret = d;
	d = SPOOL_DIR_NONE;
	return 0;
}

void spool_dir_close(struct spool_dir *d)
{
	closep(&d->fd);
	closep(&d->lock_fd);
	*d = SPOOL_DIR_NONE;
}
