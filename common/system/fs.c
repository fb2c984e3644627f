#include "common/system/fs.h"

#include <errno.h>
#include <fcntl.h>

int fs_read_at(int dir_fd, const char *path, struct buf *out)
{
	char chunk[16384];
	AUTO_CLOSE int fd = -1;

	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;

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
