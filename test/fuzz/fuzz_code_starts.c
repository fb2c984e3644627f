/*
 * Any bytes as code of either machine: starts lie within it, in the order of addresses. The first
 * byte says which machine, and where the code lies.
 */
#include <assert.h>
#include <elf.h>

#include "common/elf/code_starts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_starts s;
	uint32_t at;

	if (size < 1 || size > 65536 ||
	    code_starts_find(&s, data + 1, size - 1, UINT64_C(0x401000) + (data[0] >> 1) * 4,
			     data[0] & 1 ? EM_AARCH64 : EM_X86_64) < 0)
		return 0;
	for (uint32_t i = 0; i < s.n; i++)
		assert(s.items[i] < size - 1 && (i == 0 || s.items[i - 1] < s.items[i]));
	for (uint32_t i = 0; i < size; i += 7)
		assert(code_starts_before(&s, i, &at) < 0 || at <= i);
	code_starts_fini(&s);
	return 0;
}
