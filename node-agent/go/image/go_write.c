#include "node-agent/go/image/go_write.h"

#include <errno.h>
#include <fcntl.h>

static bool is_refusal(int error)
{
	return error == -EACCES || error == -EPERM || error == -EROFS;
}

/*
 * Opens the memory for writing. It may be that of another process than t's, or of another
 * image, so that is checked afterwards.
 */
static int open_memory(const struct program_target *t, const struct program_id *id)
{
	AUTO_CLOSE int fd = openat(t->proc_fd, "mem", O_RDWR | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;

	if (r < 0 && !is_refusal(r))
		return r;
	if (!program_target_is_current(t, id))
		return -ESRCH;
	return r < 0 ? -EROFS : TAKE_FD(fd);
}

/* Returns 1 if the word has to be written, or what go_write_word() returns. */
static int check_values(const struct byte_source *memory, const struct go_write *w)
{
	uint64_t now;
	uint8_t guard = w->guard_value;
	int r = 0;

	if (w->guard_address != 0)
		r = byte_source_read(memory, w->guard_address, &guard, sizeof(guard));
	if (r == 0)
		r = byte_source_read(memory, w->address, &now, sizeof(now));
	if (r < 0)
		return r;
	if (guard != w->guard_value)
		return -EALREADY;
	if (now == w->to)
		return 0;
	return now == w->from ? 1 : -EALREADY;
}

/* Returns the index of the byte that is not 0, or -EINVAL if there is none or more than one. */
static int only_byte(uint64_t value)
{
	for (int i = 0; i < (int)sizeof(value); i++) {
		if (value != 0 && (value & ~(UINT64_C(0xff) << (8 * i))) == 0)
			return i;
	}
	return -EINVAL;
}

static uint8_t byte_of(uint64_t word, int at)
{
	return (uint8_t)(word >> (8 * at));
}

static int write_byte(int fd, const struct go_write *w, int at, uint8_t byte)
{
	ssize_t n = pwrite(fd, &byte, sizeof(byte), (off_t)(w->address + (uint64_t)at));

	if (n < 0)
		return -errno;
	return n == sizeof(byte) ? 0 : -ESRCH;
}

/*
 * After the write: returns 1 if the word is what it should be. Any other value is the
 * program's. If it has our byte, the program stored its value just before we wrote: our byte
 * is taken out again. When switching off, our byte is 0: the value then is as good as it can
 * be made.
 */
static int check_written(int fd, const struct byte_source *memory, const struct go_write *w, int at)
{
	uint64_t now;
	int r = byte_source_read(memory, w->address, &now, sizeof(now));

	if (r < 0 || now == w->to)
		return r < 0 ? r : 1;
	if (w->to != 0 && byte_of(now, at) == byte_of(w->to, at))
		r = write_byte(fd, w, at, byte_of(w->from, at));
	return r < 0 ? r : -EALREADY;
}

int go_write_word(const struct go_runtime *rt, const struct program_id *id,
		  const struct go_write *w)
{
	int at = only_byte(w->from | w->to);
	struct byte_source memory;
	AUTO_CLOSE int fd = -1;
	int r;

	if (at < 0 || (w->from != 0 && w->to != 0))
		return -EINVAL;
	if (rt->image.minor > GO_WRITE_MINOR_MAX || w->address % sizeof(uint64_t) != 0 ||
	    !go_runtime_is_data(rt, w->address, sizeof(uint64_t)))
		return -ENOTSUP;
	if (w->guard_address != 0 && !go_runtime_is_data(rt, w->guard_address, 1))
		return -ENOTSUP;
	r = check_values(rt->image.memory, w);
	if (r == 0 || r == -EALREADY)
		return r;
	fd = open_memory(rt->target, id);
	if (fd < 0)
		return fd;
	byte_source_from_fd(&memory, fd, rt->image.memory->size_bytes);
	r = check_values(&memory, w);
	if (r <= 0)
		return r;
	r = write_byte(fd, w, at, byte_of(w->to, at));
	return r < 0 ? r : check_written(fd, &memory, w, at);
}
