#include "node-agent/heap/go_force.h"

#include <errno.h>
#include <fcntl.h>

#include "node-agent/process/procfs.h"

#define RATE_BYTE 2u /* of GO_FORCE_RATE, the one that is not 0 */

static bool is_data(const struct go_module *m, uint64_t address, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(m->data); i++) {
		if (go_range_has(&m->data[i], address) && m->data[i].end - address >= len)
			return true;
	}
	return false;
}

/* Opened now, so it may be of another process than t. */
static int open_memory(const struct go_target *t, const struct go_process_id *id)
{
	AUTO_CLOSE int fd = openat(t->proc_fd, "mem", O_RDWR | O_CLOEXEC);
	struct go_file_key key;
	struct proc_stat st;
	int r;

	if (fd < 0)
		return -errno;
	r = procfs_read_stat(t->proc_fd, &st);
	if (r == 0)
		r = go_target_read_key(t->proc_fd, &key);
	if (r < 0)
		return r;
	if (st.start_time != id->start_time || st.ended || key.dev != id->exe.dev ||
	    key.ino != id->exe.ino)
		return -ESRCH;
	return TAKE_FD(fd);
}

/* 1: to be written; else as go_force(). */
static int check_values(const struct byte_source *memory, uint64_t rate_address,
			uint64_t disabled_address, enum go_force_wish wish)
{
	uint64_t wanted = wish == GO_FORCE_ON ? GO_FORCE_RATE : 0;
	uint64_t before = GO_FORCE_RATE - wanted;
	uint8_t disabled;
	uint64_t rate;
	int r;

	r = byte_source_read(memory, disabled_address, &disabled, sizeof(disabled));
	if (r == 0)
		r = byte_source_read(memory, rate_address, &rate, sizeof(rate));
	if (r < 0)
		return r;
	if (disabled != 1)
		return -EALREADY;
	if (rate == wanted)
		return 0;
	return rate == before ? 1 : -EALREADY;
}

int go_force(const struct go_target *t, const struct go_process_id *id,
	     const struct go_executable *x, const struct go_module *module, enum go_force_wish wish)
{
	uint64_t rate = x->at.rate + t->bias, disabled = x->at.disabled + t->bias;
	uint8_t byte = (uint8_t)(wish == GO_FORCE_ON ? GO_FORCE_RATE >> (8 * RATE_BYTE) : 0);
	struct byte_source memory;
	AUTO_CLOSE int fd = -1;
	ssize_t n;
	int r;

	if (x->minor < GO_FORCE_MINOR_MIN || x->minor > GO_FORCE_MINOR_MAX || x->at.disabled == 0 ||
	    !is_data(module, rate, sizeof(uint64_t)) ||
	    !is_data(module, disabled, sizeof(uint8_t)) || rate % sizeof(uint64_t) != 0)
		return -ENOTSUP;
	fd = open_memory(t, id);
	if (fd < 0)
		return fd;
	byte_source_from_fd(&memory, fd, t->memory.size_bytes);
	r = check_values(&memory, rate, disabled, wish);
	if (r <= 0)
		return r;
	n = pwrite(fd, &byte, sizeof(byte), (off_t)(rate + RATE_BYTE));
	if (n < 0)
		return -errno;
	return n == sizeof(byte) ? 1 : -ESRCH;
}
