/* The text of /proc/<pid>/status. */
#include <assert.h>

#include "node-agent/procfs/process_status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_status s;

	if (process_status_parse((const char *)data, size, &s) == 0)
		assert(s.nspid > 0);
	return 0;
}
