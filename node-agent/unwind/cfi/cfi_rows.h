/*
 * Rules for ascending addresses → pages of rows, and the dictionary of rules. Pure.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_ROWS_H
#define NODE_AGENT_UNWIND_CFI_CFI_ROWS_H

#include "node-agent/unwind/cfi/cfi_table.h"

struct cfi_rows;

/* table is borrowed; its extent is set, its dictionary and counters are filled. -ENOMEM or 0. */
int cfi_rows_new(struct cfi_rows **ret, struct cfi_table *table, cfi_page_fn *on_page,
		 void *ctx) MUST_CHECK;
/* Puts rules into the dictionary, before any row. The first one is "unknown". 0 or -ENOMEM. */
int cfi_rows_know(struct cfi_rows *w, const struct unwind_rule *rules, uint32_t n) MUST_CHECK;
void cfi_rows_free(struct cfi_rows *w);
DEFINE_CLEANUP(struct cfi_rows *, cfi_rows_free);

/*
 * The rule holds from this address on. Addresses before the extent count as its beginning, those
 * after it are ignored; an address before the previous one is a mistake of the caller. Returns 0,
 * -ENOMEM, or what on_page returned.
 */
int cfi_rows_add(struct cfi_rows *w, uint64_t address, const struct unwind_rule *rule) MUST_CHECK;

/* Passes on what is left, up to the end of the extent. Results as above. */
int cfi_rows_finish(struct cfi_rows *w) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_ROWS_H */
