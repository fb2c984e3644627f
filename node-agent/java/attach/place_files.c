#include "node-agent/java/attach/place_files.h"

#include <errno.h>
#include <fcntl.h>

#include "common/system/fs.h"
#include "node-agent/java/attach/jvm_library.h"

#define LIBRARY_MODE 0500
#define COMPARE_BYTES 16384u
#define UNFINISHED "library.tmp" /* never loaded; removed with the directory */

bool place_files_is_own(const struct stat *st, uid_t uid)
{
	return S_ISREG(st->st_mode) && st->st_uid == uid && st->st_nlink == 1 &&
	       (st->st_mode & 022) == 0;
}

static int compare(int fd, const struct buf *bytes)
{
	UNINITIALIZED char part[COMPARE_BYTES];
	size_t at = 0;

	for (;;) {
		ssize_t n = pread(fd, part, sizeof(part), (off_t)at);

		if (n < 0)
			return -errno;
		if (n == 0)
			return at == bytes->len ? 0 : -ESTALE;
		if ((size_t)n > bytes->len - at || memcmp(bytes->data + at, part, (size_t)n) != 0)
			return -ESTALE;
		at += (size_t)n;
	}
}

int place_files_verify(int dir_fd, const struct jvm_library *lib, uid_t uid, struct stat *ret)
{
	struct stat st;
	AUTO_CLOSE int fd = fs_open_regular(dir_fd, lib->name, O_RDONLY, &st);
	int r;

	if (fd < 0)
		return fd == -ENOENT ? -ENOENT : -ESTALE;
	if (!place_files_is_own(&st, uid) || (uint64_t)st.st_size != lib->bytes.len)
		return -ESTALE;
	r = compare(fd, &lib->bytes);
	if (r == 0)
		*ret = st;
	return r;
}

static int write_all(int fd, const struct buf *bytes)
{
	size_t at = 0;

	while (at < bytes->len) {
		ssize_t n = write(fd, bytes->data + at, bytes->len - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			at += (size_t)n;
	}
	return 0;
}

static int write_unfinished(int dir_fd, const struct jvm_library *lib)
{
	AUTO_CLOSE int fd = -1;

	(void)unlinkat(dir_fd, UNFINISHED, 0);
	fd = openat(dir_fd, UNFINISHED,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, LIBRARY_MODE) < 0) /* whatever the umask */
		return -errno;
	return write_all(fd, &lib->bytes);
}

int place_files_copy(int dir_fd, const struct jvm_library *lib, uid_t uid, struct stat *ret)
{
	int r = write_unfinished(dir_fd, lib);

	if (r == 0 && renameat(dir_fd, UNFINISHED, dir_fd, lib->name) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(dir_fd, UNFINISHED, 0);
		return r;
	}
	return place_files_verify(dir_fd, lib, uid, ret);
}

struct each {
	int (*fn)(void *ctx, int dir_fd, const char *name);
	void *ctx;
	int dir_fd;
	unsigned n_seen;
};

static int see_name(void *ctx, const char *name)
{
	struct each *e = ctx;

	return ++e->n_seen > PLACE_FILES_MAX ? -E2BIG : e->fn(e->ctx, e->dir_fd, name);
}

int place_files_each(int dir_fd, int (*fn)(void *ctx, int dir_fd, const char *name), void *ctx)
{
	struct each e = {.fn = fn, .ctx = ctx, .dir_fd = dir_fd};

	return fs_each_name(dir_fd, see_name, &e);
}

static int remove_file(void *ctx, int dir_fd, const char *name)
{
	(void)ctx;
	/* a directory is not ours and stays; rmdir() reports it */
	(void)unlinkat(dir_fd, name, 0);
	return 0;
}

int place_files_remove(int parent_fd, const char *name, int dir_fd)
{
	struct stat opened, named;
	int r = place_files_each(dir_fd, remove_file, NULL);

	if (r < 0 && r != -E2BIG)
		return r == -ENOENT ? 0 : r;
	if (fstat(dir_fd, &opened) < 0)
		return -errno;
	if (fstatat(parent_fd, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
		return -ESTALE;
	return unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}
