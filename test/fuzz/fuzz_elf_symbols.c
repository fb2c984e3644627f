/*
 * Any bytes as an ELF file: layout, symbol table, lookups, exports, linkage stubs, debug link and
 * compressed symbols. Addresses that
 * are found lie in the text, names are terminated, and the table keeps its limit.
 */
#include <assert.h>

#include "common/elf/elf_debug_data.h"
#include "common/elf/elf_debug_link.h"
#include "common/elf/elf_exports.h"
#include "common/elf/elf_plt.h"
#include "common/elf/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct elf_layout *l, const struct byte_source *src, uint64_t vaddr,
		    size_t max_bytes)
{
	CLEANUP(elf_symbol_table_freep) struct elf_symbol_table *t = NULL;
	char name[256];

	if (elf_plt_find(l, src, vaddr, name, sizeof(name)) == 0)
		assert(strlen(name) > 0 && strlen(name) < sizeof(name));
	if (elf_symbol_table_new(&t, l, src, vaddr, max_bytes) < 0)
		return;
	assert(elf_symbol_table_covers(t, vaddr));
	assert(elf_symbol_table_bytes(t) <= max_bytes + 1024);
	if (elf_symbol_table_find(t, l, src, vaddr, name, sizeof(name)) == 0)
		assert(strlen(name) > 0 && strlen(name) < sizeof(name));
}

/* As many addresses as are said to be found. */
static void look_up_exports(const struct elf_layout *l, const struct byte_source *src)
{
	static const char *const names[] = {"main", "helper", "weakone"};
	uint64_t vaddrs[ARRAY_SIZE(names)];
	int r = elf_exports_find(l, src, names, vaddrs, ARRAY_SIZE(names));

	for (size_t i = 0; i < ARRAY_SIZE(names) && r >= 0; i++)
		r -= vaddrs[i] != 0;
	assert(r <= 0);
}

static void read_debug_sections(const struct elf_layout *l, const struct byte_source *src)
{
	CLEANUP(buf_fini) struct buf data;
	struct elf_debug_link link;

	buf_init(&data, 65536);
	if (elf_debug_data_read(l, src, &data) == 0)
		assert(data.len <= 65536);
	if (elf_debug_link_read(l, src, &link) == 0)
		assert(strlen(link.name) > 0 && !strchr(link.name, '/'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_source src;
	struct elf_layout l;
	uint64_t address;

	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse_debug(&l, &src) < 0)
		return 0;
	read_debug_sections(&l, &src);
	if (elf_layout_parse(&l, &src) < 0)
		return 0;
	for (uint64_t offset = 0; offset < size; offset += 61) {
		if (elf_layout_address(&l, offset, &address) == 0)
			look_up(&l, &src, address, offset % 2 ? 1024 : 100000);
	}
	look_up_exports(&l, &src);
	if (elf_symbol_address(&l, &src, "main", &address) == 0)
		(void)elf_layout_is_text(&l, address);
	return 0;
}
