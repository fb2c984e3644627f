#include <stdint.h>

#include "node-agent/workload/profile_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What excludes a process contains both words. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (profile_filter_environ_excludes(text, size) &&
	    (!memmem(text, size, "COROOT_EBPF_PROFILING=", 22) ||
	     !memmem(text, size, "disabled", 8)))
		__builtin_trap();
	return 0;
}
