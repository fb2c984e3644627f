#include "common/upload/spool_note.h"

#include <errno.h>
#include <fcntl.h>

#include "common/data/buf.h"
#include "common/data/hash.h"
#include "common/system/fs.h"

#define TMP "receiver.new"

void spool_note_name(const char *endpoint, char ret[static SPOOL_NOTE_NAME_BYTES])
{
	uint64_t hash = fnv1a64(FNV1A64_INIT, endpoint, strlen(endpoint));

	snprintf(ret, SPOOL_NOTE_NAME_BYTES, "receiver-%016llx.json", (unsigned long long)hash);
}

int spool_note_read(int dir_fd, const char *name, char ret[static SPOOL_NOTE_MAX_BYTES])
{
	CLEANUP(buf_fini) struct buf text;
	int r;

	buf_init(&text, SPOOL_NOTE_MAX_BYTES - 1);
	r = fs_read_at(dir_fd, name, &text);
	if (r == 0)
		snprintf(ret, SPOOL_NOTE_MAX_BYTES, "%s", text.data ?: "");
	return r;
}

static int write_and_sync(int fd, const char *text)
{
	size_t len = strlen(text);
	ssize_t n = write(fd, text, len);

	if (n < 0)
		return -errno;
	if ((size_t)n != len)
		return -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

int spool_note_write(int dir_fd, const char *name, const char *text)
{
	AUTO_CLOSE int fd = -1;
	int r;

	if (strlen(text) >= SPOOL_NOTE_MAX_BYTES)
		return -EFBIG;
	fd = openat(dir_fd, TMP, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_and_sync(fd, text);
	if (r == 0 && renameat(dir_fd, TMP, dir_fd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir_fd, TMP, 0);
	return r;
}
