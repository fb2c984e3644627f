#include <errno.h>
#include <stdint.h>

#include "node-agent/workload/cgroup_hierarchy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is found is an absolute path; the chosen hierarchy is one that the text names. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	enum cgroup_hierarchy_kind kind = cgroup_hierarchy_choose(text, size);
	char path[CGROUP_HIERARCHY_PATH_BYTES];
	int r = cgroup_hierarchy_parse(kind, text, size, path);

	if ((r == 0 && path[0] != '/') || (r < 0 && r != -ENOENT && r != -ENAMETOOLONG))
		__builtin_trap();
	if (kind != CGROUP_HIERARCHY_V2 && r == -ENOENT)
		__builtin_trap();
	for (kind = CGROUP_HIERARCHY_V2; kind <= CGROUP_HIERARCHY_V1_CPU; kind++) {
		if (cgroup_hierarchy_find_mount(kind, text, size, path) == 0 && path[0] != '/')
			__builtin_trap();
	}
	return 0;
}
