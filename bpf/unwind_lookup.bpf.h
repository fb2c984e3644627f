/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Finding the rule that holds at an address (unwind_table.h).
 *
 * Both searches, for the mapping and for the row, stay inside one block and have no branches: the
 * verifier follows every combination of branches, and a search that branches at each step has too
 * many. Where the row is, is a matter of arithmetic on what was read, which it does not follow.
 *
 * User space may be writing what is read here, or have given it up: a result can be wrong, and is
 * checked like everything that was read from the process. Nothing that user space reads is written
 * here, but for the note of when a table was used.
 *
 * The same addresses come again and again: callers near the root are in most stacks of a program.
 * So each CPU keeps the rules that it found last. One of them is one line of the cache, where a
 * search reads some eight.
 */
#ifndef BPF_UNWIND_LOOKUP_BPF_H
#define BPF_UNWIND_LOOKUP_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "unwind_table.h"
#include "walk_state.bpf.h"

#define UNWIND_MMAPABLE 1024 /* BPF_F_MMAPABLE, which libbpf's syntax needs as a plain number */

/* A slab; user space makes maps of this kind and puts them into unwind_slabs. */
struct unwind_slab {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, UNWIND_BLOCK_BYTES);
	__uint(max_entries, UNWIND_SLAB_BLOCKS);
	__uint(map_flags, UNWIND_MMAPABLE);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, UNWIND_SLABS);
	__array(values, struct unwind_slab);
} unwind_slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct unwind_table);
	__uint(max_entries, UNWIND_TABLES);
	__uint(map_flags, UNWIND_MMAPABLE);
} unwind_tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, UNWIND_TABLES);
	__uint(map_flags, UNWIND_MMAPABLE);
} unwind_used SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32); /* tgid */
	__type(value, struct unwind_ref);
	__uint(max_entries, UNWIND_PROCESSES);
} unwind_processes SEC(".maps");

/* Returns all ones if x is not negative, else 0; without a branch. */
static __always_inline __u64 unwind_if_positive(__s64 x)
{
	x >>= 63;
	barrier_var(x); /* keeps clang from making it a branch */
	return ~(__u64)x;
}

static __always_inline const union unwind_block *unwind_block_at(__u32 number)
{
	__u32 slab = number / UNWIND_SLAB_BLOCKS, block = number % UNWIND_SLAB_BLOCKS;
	void *blocks;

	if (number == 0)
		return NULL;
	blocks = bpf_map_lookup_elem(&unwind_slabs, &slab);
	if (!blocks)
		return NULL;
	return bpf_map_lookup_elem(blocks, &block);
}

/* Returns the number of the last one of n starts, from first on, that is not behind the address. */
static __always_inline __u64 unwind_find_start(const union unwind_block *b, __u64 first, __u64 n,
					       __u64 address)
{
	__u64 i = first, left = n;

#pragma clang loop unroll(full)
	for (__u32 size = UNWIND_BLOCK_STARTS; size > 1; size /= 2) {
		__u64 half = left / 2;
		__u64 start = b->starts[unwind_masked(i + half, UNWIND_BLOCK_STARTS)];

		i += half & unwind_if_positive((__s64)(address - start));
		left -= half;
	}
	return i - first;
}

/* The same for rows; returns the rule. */
static __always_inline __u32 unwind_find_row(const union unwind_block *b, __u64 first, __u64 n,
					     __u64 address)
{
	__u64 i = first, left = n;

#pragma clang loop unroll(full)
	for (__u32 size = UNWIND_BLOCK_ROWS; size > 1; size /= 2) {
		__u64 half = left / 2;
		__u64 row = b->rows[unwind_masked(i + half, UNWIND_BLOCK_ROWS)].address;

		i += half & unwind_if_positive((__s64)(address - row));
		left -= half;
	}
	return b->rows[unwind_masked(i, UNWIND_BLOCK_ROWS)].rule;
}

/* The rule at a virtual address of the table's file; NULL if there is none. */
static __always_inline const struct unwind_rule *unwind_find_rule(const struct unwind_table *t,
								  __u64 address)
{
	__u64 number = (address >> UNWIND_PAGE_SHIFT) - t->first_page;
	__u64 piece = number / UNWIND_BLOCK_PAGES;
	const union unwind_block *b;
	struct unwind_page page;
	struct unwind_ref ref;
	__u32 rule;

	if (number >= t->n_pages || piece >= UNWIND_TABLE_PIECES)
		return NULL;
	ref = t->pages[unwind_masked(piece, UNWIND_TABLE_PIECES)];
	b = unwind_block_at(ref.block);
	if (!b)
		return NULL;
	page = b->pages[unwind_masked(ref.first + number % UNWIND_BLOCK_PAGES, UNWIND_BLOCK_PAGES)];
	b = unwind_block_at(page.rows.block);
	if (!b || page.n == 0)
		return NULL;
	rule = unwind_find_row(b, page.rows.first, page.n, address % UNWIND_PAGE_BYTES);
	ref = t->rules[unwind_masked(rule / UNWIND_BLOCK_RULES, 2)];
	b = unwind_block_at(ref.block);
	if (!b)
		return NULL;
	return &b->rules[unwind_masked(ref.first + rule % UNWIND_BLOCK_RULES, UNWIND_BLOCK_RULES)];
}

/*
 * What the rule at an address of a table's file is remembered by: 22 bits of the generation, 12 of
 * the index, and 30 of the address, which must be in the table. It has to be made before n_pages
 * and the references are read: if the table is published meanwhile, its rule is remembered as that
 * of the one before, and not the other way round.
 */
static __always_inline __u64 unwind_key(const struct unwind_table *t, __u32 index, __u64 address)
{
	__u64 generation = t->generation;

	barrier();
	return generation << 42 | (__u64)index << 30 |
	       (address - ((__u64)t->first_page << UNWIND_PAGE_SHIFT));
}

static __always_inline bool unwind_has_address(const struct unwind_table *t, __u64 address)
{
	__u64 number = (address >> UNWIND_PAGE_SHIFT) - t->first_page;

	return number < t->n_pages && number < UNWIND_TABLE_PIECES * UNWIND_BLOCK_PAGES;
}

static __always_inline __u64 unwind_recent_index(__u64 key)
{
	return key * 0x9e3779b97f4a7c15 >> 54;
}

static __always_inline struct unwind_recent *unwind_recent_of(struct scratch *s, __u64 key)
{
	return &s->recent[unwind_masked(unwind_recent_index(key), UNWIND_RECENT)];
}

int unwind_search(__u64 address);

/*
 * Searches the rule at an address of the file whose mapping was found last, and remembers it. A
 * global function, like walk_frame(): it is verified once, and most steps do without it.
 */
__noinline int unwind_search(__u64 address)
{
	struct scratch *s = get_scratch();
	struct unwind_recent *recent;
	const struct unwind_table *t;
	const struct unwind_rule *rule;
	__u64 key;

	if (!s)
		return false;
	t = bpf_map_lookup_elem(&unwind_tables, &s->walk.mappings.table);
	if (!t)
		return false;
	key = unwind_key(t, s->walk.mappings.table, address);
	rule = unwind_find_rule(t, address);
	if (!rule)
		return false;
	recent = unwind_recent_of(s, key);
	recent->key = key;
	recent->rule = *rule;
	return true;
}

/*
 * The rule at an address of the file whose mapping was found last, and whose table this is; NULL if
 * there is none.
 */
static __always_inline const struct unwind_rule *
unwind_rule_at(struct scratch *s, const struct unwind_table *t, __u64 address)
{
	__u64 key = unwind_key(t, s->walk.mappings.table, address);
	struct unwind_recent *recent = unwind_recent_of(s, key);

	if (!unwind_has_address(t, address))
		return NULL;
	if (recent->key != key && (!unwind_search(address) || recent->key != key))
		return NULL;
	return &recent->rule;
}

/*
 * Returns whether user space has reported the mappings of this process. If not, it has none here.
 */
static __always_inline bool unwind_find_process(struct unwind_mappings *m, __u32 tgid,
						__u64 start_boottime_ns)
{
	const struct unwind_ref *ref = bpf_map_lookup_elem(&unwind_processes, &tgid);
	const struct unwind_process *p;
	const union unwind_block *b;

	m->n = 0;
	m->flags = 0;
	m->bytes = 0;
	m->chain.block = 0;
	if (!ref)
		return false;
	b = unwind_block_at(ref->block);
	if (!b)
		return false;
	p = &b->processes[unwind_masked(ref->first, UNWIND_BLOCK_PROCESSES)];
	if (p->tgid != tgid || p->start_boottime_ns != start_boottime_ns)
		return false;
	m->starts = p->starts;
	m->mappings[0] = p->mappings[0];
	m->mappings[1] = p->mappings[1];
	m->chain = p->chain;
	m->n = p->n_mappings;
	m->flags = p->flags;
	return true;
}

static __always_inline void unwind_note_use(const struct unwind_mappings *m)
{
	__u64 *used = bpf_map_lookup_elem(&unwind_used, &m->table);

	if (used && *used != m->used_at)
		*used = m->used_at;
}

/* Finds the mapping of an address among those that user space has reported. */
static __always_inline bool unwind_find_reported(struct unwind_mappings *m, __u64 address)
{
	const struct unwind_mapping *found;
	const union unwind_block *b;
	struct unwind_ref ref;
	__u64 i;

	m->bytes = 0;
	if (m->n == 0)
		return false;
	b = unwind_block_at(m->starts.block);
	if (!b)
		return false;
	i = unwind_find_start(b, m->starts.first, m->n, address);
	m->start = b->starts[unwind_masked(m->starts.first + i, UNWIND_BLOCK_STARTS)];
	ref = m->mappings[unwind_masked(i / UNWIND_BLOCK_MAPPINGS, 2)];
	b = unwind_block_at(ref.block);
	if (!b)
		return false;
	found = &b->mappings[unwind_masked(ref.first + i % UNWIND_BLOCK_MAPPINGS,
					   UNWIND_BLOCK_MAPPINGS)];
	m->bias = found->bias;
	m->table = found->table;
	m->bytes = (__u64)found->n_pages << UNWIND_MAPPING_SHIFT;
	if (address - m->start < m->bytes)
		return true;
	m->bytes = 0;
	return false;
}

int unwind_enter_other(__u64 address);

/* A global function, like unwind_search(). */
__noinline int unwind_enter_other(__u64 address)
{
	struct scratch *s = get_scratch();

	if (!s || (!unwind_find_reported(&s->walk.mappings, address) && !find_vma_of(address)))
		return false;
	unwind_note_use(&s->walk.mappings);
	return true;
}

/*
 * Finds the mapping of an address, which mostly is that of the previous one. Returns whether there
 * is one. Libraries that were loaded lately, and all mappings of a process that is not reported,
 * are known to the kernel only.
 */
static __always_inline bool unwind_enter(struct scratch *s, __u64 address)
{
	const struct unwind_mappings *m = &s->walk.mappings;

	return address - m->start < m->bytes || unwind_enter_other(address);
}

#endif /* BPF_UNWIND_LOOKUP_BPF_H */
