/*
 * Any bytes as an ELF file: the start of a function is never behind the address looked up, and what
 * is in no function is a range.
 */
#include <assert.h>

#include "common/elf/eh_function.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_source src;
	struct elf_layout l;
	uint64_t address, start, end;

	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&l, &src) < 0)
		return 0;
	for (uint64_t offset = 0; offset < size; offset += 13) {
		if (elf_layout_address(&l, offset, &address) == 0 &&
		    eh_function_start(&l, &src, address, &start) == 0)
			assert(start <= address);
	}
	if (eh_function_gap(&l, &src, &start, &end) == 0)
		assert(start < end);
	return 0;
}
