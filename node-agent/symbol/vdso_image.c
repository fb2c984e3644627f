#include "node-agent/symbol/vdso_image.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/auxv.h>

#define VDSO_MAX_BYTES (1u << 20)

/* End of the mapping that starts here; 0: there is none. */
static uint64_t mapping_end(uint64_t start)
{
	AUTO_FREE char *line = NULL;
	FILE *f = fopen("/proc/self/maps", "re");
	size_t cap = 0;
	uint64_t end = 0;

	if (!f)
		return 0;
	while (end == 0 && getline(&line, &cap, f) > 0) {
		char *rest;

		if (strtoull(line, &rest, 16) == start && *rest == '-')
			end = strtoull(rest + 1, NULL, 16);
	}
	fclose(f);
	return end;
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
