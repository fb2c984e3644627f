#include "node-agent/procfs/vdso_image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>

#include "node-agent/procfs/proc_maps.h"
#include "node-agent/procfs/procfs.h"

#define VDSO_MAX_BYTES (1u << 20)
#define MAPS_MAX_BYTES ((size_t)16 * 1024 * 1024)

struct search {
	uint64_t start;
	uint64_t end; /* 0 until the mapping is found */
};

static int on_mapping(void *ctx, const char *line, size_t len)
{
	struct search *s = ctx;
	struct proc_map m;

	if (proc_map_parse(line, len, &m) == 0 && m.start == s->start)
		s->end = m.end;
	return s->end != 0;
}

/* Returns the end of our own mapping that starts here, or 0 if there is none. */
static uint64_t mapping_end(uint64_t start)
{
	AUTO_CLOSE int self_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct search s = {.start = start};

	return procfs_each_map(self_fd, MAPS_MAX_BYTES, on_mapping, &s) < 0 ? 0 : s.end;
}

int vdso_image_copy(void **ret, size_t *ret_len)
{
	const void *start =
		(const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
	uint64_t end;
	size_t len;
	void *copy;

	if (!start)
		return -ENOENT;
	end = mapping_end((uintptr_t)start);
	if (end <= (uintptr_t)start || end - (uintptr_t)start > VDSO_MAX_BYTES)
		return -ENOENT;
	len = (size_t)(end - (uintptr_t)start);
	copy = malloc(len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, start, len);
	*ret = copy;
	*ret_len = len;
	return 0;
}
