#include <stdint.h>

#include "node-agent/procfs/proc_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is read lies inside the line, and a range is never empty. A glance reads no further. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *line = (const char *)data;
	struct proc_map m;

	(void)proc_map_is_executable(line, size);
	if (proc_map_parse(line, size, &m) < 0)
		return 0;
	if (m.start >= m.end || m.path < line || m.path_len > size ||
	    m.path + m.path_len > line + size)
		__builtin_trap();
	return 0;
}
