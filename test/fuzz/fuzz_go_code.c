/* Any bytes as code of either architecture: references are found within bounds. */
#include <assert.h>
#include <elf.h>

#include "node-agent/go/image/go_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct go_ref refs[64];

	assert(go_code_refs(EM_X86_64, data, size, 0x400000, refs, 64) <= 64);
	assert(go_code_refs(EM_AARCH64, data, size, 0x400000, refs, 64) <= 64);
	return 0;
}
