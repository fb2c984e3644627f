/* Any bytes as an ELF file: pages are whole, in order, and their rules are in the dictionary. */
#include <assert.h>

#include "node-agent/unwind/cfi/cfi_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint32_t n_pages;
	uint64_t n_rows;
	uint32_t last_rule;
};

static int on_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	struct seen *s = ctx;

	assert(page == s->n_pages++);
	assert(n > 0 && n <= UNWIND_BLOCK_ROWS && rows[0].address == 0);
	for (uint32_t i = 0; i < n; i++) {
		assert(i == 0 || rows[i].address > rows[i - 1].address);
		assert(rows[i].address < UNWIND_PAGE_BYTES);
		if (rows[i].rule > s->last_rule)
			s->last_rule = rows[i].rule;
	}
	s->n_rows += n;
	return 0;
}

static void check(const struct cfi_input *in)
{
	struct seen seen = {.n_pages = 0};
	struct cfi_table table;

	if (cfi_table_build(&table, in, on_page, &seen) < 0)
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
