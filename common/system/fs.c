#include "common/system/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/system/clock.h"

int fs_read_fd(int fd, struct buf *out)
{
	char chunk[16384];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		size_t room = out->limit - out->len;
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		r = buf_add(out, chunk, (size_t)n < room ? (size_t)n : room);
		if (r < 0)
			return r;
		if ((size_t)n > room)
			return -EFBIG;
	}
}

int fs_read_at(int dir_fd, const char *path, struct buf *out)
{
	AUTO_CLOSE int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fs_read_fd(fd, out);
}

int fs_read_file(const char *path, struct buf *out)
{
	/* a FIFO without a writer would block otherwise */
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? fs_read_fd(fd, out) : -EINVAL;
}

int fs_open_regular(int dir_fd, const char *path, int flags, struct stat *ret)
{
	AUTO_CLOSE int path_fd = openat(dir_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char opened[32];
	int fd;

	if (path_fd < 0 || fstat(path_fd, ret) < 0)
		return -errno;
	if (!S_ISREG(ret->st_mode))
		return -EBADMSG;
	/* the same inode, whatever has the name by now */
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", path_fd);
	fd = open(opened, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int fs_each_name(int dir_fd, int (*fn)(void *ctx, const char *name), void *ctx)
{
	AUTO_CLOSE int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(closedirp) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;

	if (!dir)
		return -errno;
	(void)TAKE_FD(fd); /* closed by closedir() */
	while (errno = 0, (e = readdir(dir)) != NULL) {
		int r = 0;

		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = fn(ctx, e->d_name);
		if (r != 0)
			return r;
	}
	return -errno;
}

/* ---- changes of a file ---- */

struct file_stamp file_stamp(const char *path)
{
	struct file_stamp stamp = {0};
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return stamp;
	stamp.dev = st.st_dev;
	stamp.ino = st.st_ino;
	stamp.size = (uint64_t)st.st_size;
	stamp.changed_ns = (uint64_t)st.st_ctim.tv_sec * NS_PER_S + (uint64_t)st.st_ctim.tv_nsec;
	return stamp;
}

bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}

/* ---- what is installed with the program ---- */

int program_dir(char *ret, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", ret, size - 1);
	char *slash;

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

int program_dir_find(const char *folder, const char *name, char *ret, size_t size)
{
	char dir[PATH_MAX];
	int r = program_dir(dir, sizeof(dir));

	if (r < 0)
		return r;
	if ((size_t)snprintf(ret, size, "%s/%s", dir, name) < size && access(ret, F_OK) == 0)
		return 0;
	if ((size_t)snprintf(ret, size, "%s/../lib/%s/%s", dir, folder, name) < size &&
	    access(ret, F_OK) == 0)
		return 0;
	return -ENOENT;
}
