#include "cluster-agent/store/store_marker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/data/buf.h"
#include "common/system/fs.h"

#define MAX_TEXT_BYTES ((size_t)64 * 1024)
#define END "end\n"

struct check {
	int dir_fd;
	const char *data_dir;
	struct err *err;
};

static bool is_harmless(const char *path)
{
	return path[0] != '\0' && path[0] != '/' && !strstr(path, "..");
}

int store_marker_parse(const char *text, size_t len, store_marker_fn fn, void *ctx)
{
	const size_t end_len = sizeof(END) - 1;
	const char *end;

	if (len < end_len || memcmp(text + len - end_len, END, end_len) != 0)
		return -EBADMSG;
	for (end = text + len - end_len; text < end;) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t n = newline ? (size_t)(newline - text) : 0;
		char path[PATH_MAX];
		int r;

		if (!newline || n >= sizeof(path) || memchr(text, '\0', n))
			return -EBADMSG;
		memcpy(path, text, n);
		path[n] = '\0';
		if (!is_harmless(path))
			return -EBADMSG;
		r = fn(ctx, path);
		if (r < 0)
			return r;
		text = newline + 1;
	}
	return 0;
}

static int check_path(void *ctx, const char *path)
{
	const struct check *c = ctx;
	const char *what = "is missing";
	struct stat st;

	if (fstatat(c->dir_fd, path, &st, 0) == 0) {
		if (!S_ISREG(st.st_mode) || st.st_size > 0)
			return 0;
		what = "is empty";
	} else if (errno != ENOENT && errno != ENOTDIR) {
		return err_set(c->err, -errno, "read %s/%s: %m", c->data_dir, path);
	}
	return err_set(c->err, -ENOENT,
		       "%s/%s %s, so profiles would be lost; restore it from a backup, or "
		       "empty the directory to begin with an empty store",
		       c->data_dir, path, what);
}

int store_marker_check(const char *data_dir, struct err *err)
{
	AUTO_CLOSE int dir_fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(buf_fini) struct buf text;
	struct check c = {dir_fd, data_dir, err};
	int r;

	buf_init(&text, MAX_TEXT_BYTES);
	if (dir_fd < 0)
		return err_set(err, -errno, "open data directory %s: %m", data_dir);
	r = fs_read_at(dir_fd, STORE_MARKER, &text);
	if (r == -ENOENT)
		return 0;
	if (r < 0 && r != -EFBIG)
		return err_set(err, r, "read %s/" STORE_MARKER ": %s", data_dir, strerror(-r));
	r = store_marker_parse(text.data ?: "", text.len, check_path, &c);
	if (r == -EBADMSG)
		return err_set(err, r,
			       "%s/" STORE_MARKER " is damaged; if the rest of the directory is "
			       "well, remove that file",
			       data_dir);
	return r;
}

static int write_text(int fd, const char *lines, size_t len)
{
	if (write(fd, lines, len) != (ssize_t)len ||
	    write(fd, END, sizeof(END) - 1) != (ssize_t)sizeof(END) - 1)
		return errno ? -errno : -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

int store_marker_write(const char *data_dir, const char *lines, size_t len, struct err *err)
{
	static const char tmp[] = STORE_MARKER ".new";
	AUTO_CLOSE int dir_fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = -1;
	int r = -1;

	if (dir_fd >= 0)
		fd = openat(dir_fd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			    0600);
	errno = fd < 0 ? errno : 0;
	r = fd < 0 ? -errno : write_text(fd, lines, len);
	if (r == 0 && (renameat(dir_fd, tmp, dir_fd, STORE_MARKER) < 0 || fsync(dir_fd) < 0))
		r = -errno;
	return r < 0 ? err_set(err, r, "write %s/" STORE_MARKER ": %s", data_dir, strerror(-r)) : 0;
}
