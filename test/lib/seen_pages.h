/*
 * A cfi_page_fn that checks pages of unwinding rows, whatever they were made of: they are whole and
 * in order. It keeps what their dictionary of rules must have.
 */
#ifndef TEST_LIB_SEEN_PAGES_H
#define TEST_LIB_SEEN_PAGES_H

#include <assert.h>

#include "node-agent/unwind/cfi/cfi_table.h"

struct seen_pages {
	uint32_t n_pages;
	uint64_t n_rows;
	uint32_t last_rule;
};

static inline int see_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	struct seen_pages *s = ctx;

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

#endif /* TEST_LIB_SEEN_PAGES_H */
