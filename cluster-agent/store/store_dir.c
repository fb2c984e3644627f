#include "cluster-agent/store/store_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>

#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/system/private_dir.h"
#include "common/telemetry/log.h"

#define LOCK_FILE "LOCK"

/*
 * An empty directory may have these two: lost+found at the root of a new file system, and the
 * write-ahead log, which may be on a volume of its own that was mounted before the first start.
 */
static int see_name(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "lost+found") != 0 && strcmp(name, "wal") != 0 ? -ENOTEMPTY : 0;
}

/* Whoever has made the directory, only an empty one becomes ours. */
static int check_is_ours(int dir_fd, const char *path, struct err *err)
{
	struct stat st;
	int r;

	if (fstatat(dir_fd, LOCK_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (errno != ENOENT)
		return err_set(err, -errno, "open %s/" LOCK_FILE ": %m", path);
	r = fs_each_name(dir_fd, see_name, NULL);
	if (r == -ENOTEMPTY)
		return err_set(err, r, "data directory %s holds other files; give an empty one",
			       path);
	return r < 0 ? err_set(err, r, "read %s: %s", path, strerror(-r)) : 0;
}

/*
 * The root of a container's volume may belong to its manager. Others may then look into it, but not
 * into the directories that store_dir_prepare() makes, unless they can replace these.
 */
static int make_private(int dir_fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(dir_fd, &st) < 0)
		return err_set(err, -errno, "read %s: %m", path);
	if ((st.st_mode & 077) == 0 || fchmod(dir_fd, 0700) == 0)
		return 0;
	if (st.st_mode & 02)
		return err_set(err, -EPERM,
			       "data directory %s: everybody may write to it, and that cannot be "
			       "changed (%m)",
			       path);
	return 0;
}

/* Returns the descriptor of the lock, or -errno. */
static int wait_for_lock(int dir_fd, const char *path, uint64_t wait_ns, struct err *err)
{
	uint64_t owner = 0;
	int r = private_dir_lock(dir_fd, LOCK_FILE, 0, &owner);

	if (r == -EBUSY && wait_ns > 0) {
		log_info("the data directory is in use; waiting for the other process to end",
			 "pid=%llu at_most_s=%llu", (unsigned long long)owner,
			 (unsigned long long)(wait_ns / NS_PER_S));
		r = private_dir_lock(dir_fd, LOCK_FILE, wait_ns, &owner);
	}
	if (r == -EBUSY)
		return err_set(err, r, "data directory %s is in use by process %llu", path,
			       (unsigned long long)owner);
	if (r == -EINTR)
		return err_set(err, r, "stopped while data directory %s was in use", path);
	return r < 0 ? err_set(err, r, "lock %s/" LOCK_FILE ": %s", path, strerror(-r)) : r;
}

int store_dir_lock(const char *path, uint64_t wait_ns, int *ret_fd, struct err *err)
{
	AUTO_CLOSE int dir_fd = -1;
	AUTO_CLOSE int fd = -1;
	char name[sizeof(err->msg)]; /* in errors, which it fills */
	int r;

	(void)snprintf(name, sizeof(name), "data directory %s", path);
	dir_fd = private_dir_open(AT_FDCWD, path, 0, name, err);
	if (dir_fd < 0)
		return dir_fd;
	r = check_is_ours(dir_fd, path, err);
	if (r < 0)
		return r;
	fd = wait_for_lock(dir_fd, path, wait_ns, err);
	r = fd < 0 ? fd : make_private(dir_fd, path, err);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	return ftw->level > 0 && remove(path) < 0 ? -1 : 0;
}

static int make_private_dir(const char *path, struct err *err)
{
	AUTO_CLOSE int fd = private_dir_open(AT_FDCWD, path,
					     PRIVATE_DIR_NO_LINK | PRIVATE_DIR_CLOSE, path, err);

	return fd < 0 ? fd : 0;
}

int store_dir_prepare(const char *path, struct err *err)
{
	char dir[PATH_MAX];
	int r;

	if (strlen(path) > sizeof(dir) - 64)
		return err_set(err, -ENAMETOOLONG, "data directory: the path is too long");
	snprintf(dir, sizeof(dir), "%s/" STORE_DIR_TABLES, path);
	r = make_private_dir(dir, err);
	if (r < 0)
		return r;
	snprintf(dir, sizeof(dir), "%s/" STORE_DIR_TMP, path);
	r = make_private_dir(dir, err);
	if (r < 0)
		return r;
	if (nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0)
		return err_set(err, errno ? -errno : -EIO, "empty %s: %m", dir);
	return 0;
}
