/* Any bytes as the index of a package of split DWARF: the first 8 are the id that is looked for. */
#include <assert.h>

#include "node-agent/lines/dwp_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dwp_part parts[DWP_SECTIONS];
	uint64_t id;

	if (size < sizeof(id))
		return 0;
	memcpy(&id, data, sizeof(id));
	if (dwp_index_find(data + sizeof(id), size - sizeof(id), id, parts) == 0)
		assert(parts[DWP_INFO].bytes > 0 && parts[DWP_ABBREV].bytes > 0);
	return 0;
}
