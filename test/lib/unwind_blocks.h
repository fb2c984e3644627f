/*
 * Tables for the walk, written by hand into one slab: that of a map, or of plain memory. Blocks are
 * taken one after another and never returned.
 */
#ifndef TEST_LIB_UNWIND_BLOCKS_H
#define TEST_LIB_UNWIND_BLOCKS_H

#include <assert.h>
#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpf/unwind_table.h"

struct unwind_blocks {
	union unwind_block *slab; /* UNWIND_SLAB_BLOCKS of them; it is the first slab */
	struct unwind_table *tables;
	uint16_t n_used; /* blocks */
};

static inline void unwind_blocks_init(struct unwind_blocks *b, union unwind_block *slab,
				      struct unwind_table *tables)
{
	*b = (struct unwind_blocks){slab, tables, 1};
}

static inline struct unwind_ref unwind_blocks_take(struct unwind_blocks *b)
{
	assert(b->n_used < UNWIND_SLAB_BLOCKS);
	return (struct unwind_ref){.block = b->n_used++};
}

/* A row by its virtual address; the last one of a table ends the text and has no rule. */
struct unwind_blocks_row {
	uint64_t address;
	uint16_t rule;
};

/* The rows from i on that are in a page, behind the rule that holds at its start. */
static inline size_t unwind_blocks_page(struct unwind_page *page, struct unwind_row *rows,
					uint64_t number, const struct unwind_blocks_row *r,
					size_t i, size_t n)
{
	page->n = 0;
	if (i == n || r[i].address > number << UNWIND_PAGE_SHIFT)
		rows[page->n++] = (struct unwind_row){0, i > 0 ? r[i - 1].rule : 0};
	for (; i < n && r[i].address >> UNWIND_PAGE_SHIFT == number; i++)
		rows[page->n++] = (struct unwind_row){(uint16_t)(r[i].address % UNWIND_PAGE_BYTES),
						      r[i].rule};
	return i;
}

/* Rows ascend. All rows lie in one block, all rules in another one. */
static inline void unwind_blocks_table(struct unwind_blocks *b, uint32_t table,
				       const struct unwind_rule *rules, size_t n_rules,
				       const struct unwind_blocks_row *r, size_t n)
{
	struct unwind_ref pages = unwind_blocks_take(b), rows = unwind_blocks_take(b);
	struct unwind_ref rule_ref = unwind_blocks_take(b);
	struct unwind_table *t = &b->tables[table];
	uint32_t first = (uint32_t)(r[0].address >> UNWIND_PAGE_SHIFT);
	uint32_t last = (uint32_t)((r[n - 1].address - 1) >> UNWIND_PAGE_SHIFT);
	size_t i = 0;

	assert(n_rules <= UNWIND_BLOCK_RULES && last - first < UNWIND_BLOCK_PAGES);
	memcpy(b->slab[rule_ref.block].rules, rules, n_rules * sizeof(*rules));
	for (uint32_t p = 0; p <= last - first; p++) {
		struct unwind_page *page = &b->slab[pages.block].pages[p];

		assert(rows.first + n < UNWIND_BLOCK_ROWS);
		i = unwind_blocks_page(page, &b->slab[rows.block].rows[rows.first], first + p, r, i,
				       n);
		page->rows = rows;
		rows.first = (uint16_t)(rows.first + page->n);
	}
	*t = (struct unwind_table){.first_page = first,
				   .generation = t->generation + 1,
				   .rules = {rule_ref},
				   .pages = {pages}};
	__atomic_store_n(&t->n_pages, last - first + 1, __ATOMIC_RELEASE);
}

struct unwind_blocks_mapping {
	uint64_t start, end;
	uint64_t bias;
	uint32_t table;
};

/* Mappings ascend. Returns where the process is, for unwind_processes. */
static inline struct unwind_ref unwind_blocks_process(struct unwind_blocks *b, uint32_t tgid,
						      uint64_t start_boottime_ns,
						      const struct unwind_blocks_mapping *m,
						      uint32_t n, uint32_t flags)
{
	struct unwind_ref ref = unwind_blocks_take(b);
	struct unwind_process p = {
		.start_boottime_ns = start_boottime_ns,
		.tgid = tgid,
		.flags = flags,
		.n_mappings = n,
		.starts = unwind_blocks_take(b),
		.mappings = {unwind_blocks_take(b)},
	};

	if (n > UNWIND_BLOCK_MAPPINGS)
		p.mappings[1] = unwind_blocks_take(b);
	for (uint32_t i = 0; i < n; i++) {
		struct unwind_ref part = p.mappings[i / UNWIND_BLOCK_MAPPINGS];

		b->slab[p.starts.block].starts[i] = m[i].start;
		b->slab[part.block].mappings[i % UNWIND_BLOCK_MAPPINGS] = (struct unwind_mapping){
			m[i].bias, (uint32_t)((m[i].end - m[i].start) >> UNWIND_MAPPING_SHIFT),
			m[i].table};
	}
	b->slab[ref.block].processes[0] = p;
	return ref;
}

/* How frames of an interpreter are found in that process. */
static inline void unwind_blocks_chain(struct unwind_blocks *b, struct unwind_ref process,
				       const struct chain_layout *l)
{
	struct unwind_ref ref = unwind_blocks_take(b);

	ref.first = 3; /* units */
	memcpy((char *)&b->slab[ref.block] + ref.first * UNWIND_CHAIN_UNIT, l, sizeof(*l));
	b->slab[process.block].processes[0].chain = ref;
}

#endif /* TEST_LIB_UNWIND_BLOCKS_H */
