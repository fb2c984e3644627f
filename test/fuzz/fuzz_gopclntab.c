/* Any bytes as an ELF file of Go: the table is found and searched within its bounds. */
#include <assert.h>

#include "node-agent/symbol/gopclntab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_source src;
	struct elf_layout l;
	struct gopclntab go;
	char name[256];

	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&l, &src) < 0 || gopclntab_open(&go, &l, &src) < 0)
		return 0;
	assert(go.offset + go.size_bytes <= size);
	assert(go.first < go.end && elf_layout_is_text(&l, go.first));
	for (uint64_t i = 0; i < 32; i++) {
		uint64_t vaddr = go.first + (go.end - go.first) / 32 * i;

		if (gopclntab_find(&go, &src, vaddr, name, sizeof(name)) == 0)
			assert(strlen(name) > 0 && strlen(name) < sizeof(name));
	}
	return 0;
}
