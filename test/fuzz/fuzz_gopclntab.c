/*
 * Any bytes as an ELF file of Go: the table is found and searched within its bounds, and so is its
 * assembly.
 */
#include <assert.h>

#include "node-agent/unwind/assembly_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_assembly(const struct gopclntab *go, const struct elf_layout *l,
			  const struct byte_source *src)
{
	static struct gopclntab_assembly ranges[64];
	static struct go_frame_table table;
	int n = gopclntab_assembly(go, l, src, ranges, ARRAY_SIZE(ranges));

	for (int i = 0; i < n; i++) {
		assert(ranges[i].start < ranges[i].end);
		assert(i == 0 || ranges[i].start >= ranges[i - 1].end);
		assert(ranges[i].frame_bytes <= GOPCLNTAB_ASSEMBLY_FRAME_MAX);
	}
	if (n < 0)
		return;
	(void)assembly_table_fill(&table, ranges, (size_t)n, go->first);
	for (size_t i = 1; i < GO_ASSEMBLY_RANGES; i++)
		assert(table.start[i] >= table.start[i - 1]);
}

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
	find_assembly(&go, &l, &src);
	return 0;
}
