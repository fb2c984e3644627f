#include <stdint.h>

#include "common/system/memory_limit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first half is a /proc/<pid>/cgroup, the second a mountinfo. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const controllers[] = {NULL, "memory"};
	const char *text = (const char *)data;
	const struct cgroup_span first = {text, size / 2};
	const struct cgroup_span second = {text + size / 2, size - size / 2};
	struct cgroup_dir dir;

	(void)memory_limit_parse(text, size);
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		if (cgroup_dir_find(&dir, controllers[i], first, second) < 0)
			continue;
		if (dir.path[0] != '/' || dir.mount_len == 0)
			__builtin_trap();
	}
	return 0;
}
