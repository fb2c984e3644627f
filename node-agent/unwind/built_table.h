/*
 * Writes one unwind table into slabs, page by page, and makes it visible to the BPF stack walk.
 */
#ifndef NODE_AGENT_UNWIND_BUILT_TABLE_H
#define NODE_AGENT_UNWIND_BUILT_TABLE_H

#include "common/base.h"
#include "node-agent/unwind/cfi/cfi_table.h"
#include "node-agent/unwind/unwind_slabs.h"

#define BUILT_TABLE_PAGES_MAX (UNWIND_TABLE_PIECES * UNWIND_BLOCK_PAGES)

struct hot_code;

/* The memory of one table. */
struct built_table {
	struct cfi_extent extent;
	struct unwind_extent pages[UNWIND_TABLE_PIECES];
	struct unwind_extent rules[2];
	struct unwind_page *directory; /* a copy, so that nothing need be mapped to free the rows */
	uint64_t bytes;
	uint64_t n_rows;
	uint32_t n_rules;
	struct unwind_page blank; /* all pages without any known rule; zeroed: there is none */
	bool has_debug_file;      /* it is made of one, too */
	/* Owned: the parts that are yet to be built, or may be dropped. NULL: there are none. */
	struct hot_code *hot;
	bool has_parts; /* that can be read by themselves, and so may be given up */
	/* Of a table that was opened: as in struct cfi_table, and whether that is much. */
	uint64_t bare_bytes;
	bool lacks_descriptions;
};

/*
 * Reserves the page directory. Returns 0, -ENOMEM, -EFBIG if there are more pages than
 * BUILT_TABLE_PAGES_MAX or addresses have more than 47 bits, or an error of unwind_slabs_get(). If
 * this or one of the next two functions fails, the caller must call built_table_discard().
 */
int built_table_begin(struct built_table *b, struct unwind_slabs *slabs,
		      const struct cfi_extent *extent) MUST_CHECK;

/*
 * Likewise, with a dictionary that has the rule "unknown" and room for more: a table without any
 * page, to be published and filled by built_table_replace().
 */
int built_table_open(struct built_table *b, struct unwind_slabs *slabs,
		     const struct cfi_extent *extent) MUST_CHECK;

/* Adds the rows of a page; a page without rows has n == 0. The same errors. */
int built_table_add_page(struct built_table *b, struct unwind_slabs *slabs, uint32_t page,
			 const struct unwind_row *rows, uint32_t n) MUST_CHECK;

/* The rows of a page, and their number; NULL if there are none, or they cannot be mapped. */
const struct unwind_row *built_table_rows(const struct built_table *b, struct unwind_slabs *slabs,
					  uint32_t page, uint32_t *ret_n);

int built_table_add_rules(struct built_table *b, struct unwind_slabs *slabs,
			  const struct unwind_rule *rules, uint32_t n) MUST_CHECK;

/* Makes the table visible to walks; ret is an element of unwind_tables. */
void built_table_publish(const struct built_table *b, struct unwind_table *ret);

/* Pages of a published table that are about to be replaced. */
struct built_part {
	uint32_t first, n; /* pages; at most CFI_FILL_PAGES */
	struct unwind_page pages[CFI_FILL_PAGES];
	uint64_t bytes, n_rows;
	const struct unwind_rule *rules; /* borrowed: those of the table and new ones after them */
	uint32_t n_rules;
};

/*
 * The rules of the table, for struct cfi_part; ret has room for UNWIND_TABLE_RULES. Returns 0 or
 * -ENOMEM.
 */
int built_table_read_rules(const struct built_table *b, struct unwind_slabs *slabs,
			   struct unwind_rule *ret) MUST_CHECK;

/*
 * Writes the rows of page part->first + page; one without any known rule will not be replaced.
 * Errors as of built_table_add_page().
 */
int built_part_add_page(struct built_part *part, struct unwind_slabs *slabs, uint32_t page,
			const struct unwind_row *rows, uint32_t n) MUST_CHECK;
void built_part_discard(struct built_part *part, struct unwind_slabs *slabs);

/*
 * Replaces the pages while walks read them. An error is one of built_table_add_rules(); then
 * nothing has changed, and the part must be discarded.
 */
int built_table_replace(struct built_table *b, struct unwind_slabs *slabs, struct built_part *part,
			struct unwind_table *published, uint64_t now_ns) MUST_CHECK;

/* Gives up pages while walks read them, which know nothing there from then on; cannot fail. */
void built_table_drop(struct built_table *b, struct unwind_slabs *slabs,
		      const struct cfi_extent *pages, struct unwind_table *published,
		      uint64_t now_ns);

/* Hides a published table from walks and frees its memory; cannot fail. */
void built_table_withdraw(struct built_table *b, struct unwind_slabs *slabs,
			  struct unwind_table *published, uint64_t now_ns);

/* Frees the memory of a table that was never published. */
void built_table_discard(struct built_table *b, struct unwind_slabs *slabs);

#endif /* NODE_AGENT_UNWIND_BUILT_TABLE_H */
