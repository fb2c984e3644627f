/* Any bytes as an ELF file: pages are whole, in order, and their rules are in the dictionary. */
#include "test/lib/seen_pages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct cfi_input *in)
{
	struct seen_pages seen = {.n_pages = 0};
	struct cfi_table table;

	if (cfi_table_build(&table, in, see_page, &seen) < 0)
		return;
	assert(seen.n_pages == table.extent.n_pages);
	assert(seen.n_rows == table.n_rows);
	assert(seen.last_rule < table.n_rules && table.n_rules <= UNWIND_TABLE_RULES);
	assert(table.rules[0].base == UNWIND_CFA_UNKNOWN);
	cfi_table_fini(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_source src;
	struct elf_layout l;
	struct cfi_input in = {.layout = &l, .src = &src};

	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&l, &src) < 0)
		return 0;
	check(&in);
	in.debug_layout = &l;
	in.debug_src = &src;
	l.is_go = false;
	check(&in);
	return 0;
}
