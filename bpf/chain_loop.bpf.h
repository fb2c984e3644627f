/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Where the loop of an interpreter is, and how the code that it has generated leaves its frame. */
#ifndef BPF_CHAIN_LOOP_BPF_H
#define BPF_CHAIN_LOOP_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "chain_scan.bpf.h"
#include "chain_state.bpf.h"
#include "frame_chain.h"
#include "unwind_lookup.bpf.h"
#include "unwind_rules.bpf.h"
#include "walk_state.bpf.h"

/* The index of the last range that begins at or before the offset. Has no branches. */
static __always_inline __u64 chain_find_range(const struct chain_layout *l, __u64 offset)
{
	__u64 i = 0, left = l->n_ranges;

#pragma clang loop unroll(full)
	for (__u32 size = CHAIN_RANGES; size > 1; size /= 2) {
		__u64 half = left / 2;
		__u64 start = l->starts[unwind_masked(i + half, CHAIN_RANGES)];

		i += half & unwind_if_positive((__s64)(offset - start));
		left -= half;
	}
	return unwind_masked(i, CHAIN_RANGES);
}

/* Whether an address is in the interpreter's loop, which is in a file. */
static __always_inline bool chain_has_file_at(const struct chain_layout *l, __u64 address)
{
	__u64 offset = address - l->loop, i = chain_find_range(l, offset);

	return offset >= l->starts[i] && offset < l->ends[i];
}

/*
 * See CHAIN_CALLED_BY_LOOP. What keeps frame pointers, as it may be asked to, has that of the loop
 * below the return address.
 */
__noinline int walk_to_loop(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();
	__u64 at, pc, fp;
	__u32 i;

	if (!c || !s || !s->walk.chained || !(c->layout.flags & CHAIN_CALLED_BY_LOOP))
		return false;
	at = s->walk.sp;
	i = (__u32)chain_find_word(at, c->layout.loop + 1, c->layout.loop_bytes);
	if (i >= CHAIN_FRAME_WORDS)
		return false;
	pc = c->words[unwind_masked(i, CHAIN_FRAME_WORDS)];
	if (!chain_has_file_at(&c->layout, pc - 1))
		return false;
	at += i * USER_WORD_BYTES;
	fp = s->walk.fp;
	if (fp + USER_WORD_BYTES == at)
		fp = c->words[unwind_masked(i - 1, CHAIN_FRAME_WORDS)];
	s->walk.rbx_at = WALK_RBX_LOST;
	return walk_to(&s->walk, pc, at + USER_WORD_BYTES, fp) == WALK_CONTINUES;
}

/* Whether the loop returns to the address. Has no branches. */
static __always_inline bool chain_is_return(const struct chain_guest *g, __u64 address)
{
	__u64 others = ~0ULL;

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < CHAIN_RETURNS; i++) {
		__u64 other = address ^ g->returns[i]; /* its upper bit, then: not 0 */

		other |= -other;
		barrier_var(other);
		others &= other;
	}
	return !(others >> 63);
}

/* Returns the index of the first of n words that is an address of code; n: none is. */
static __always_inline __u32 chain_find_code(struct chain_scratch *c, struct scratch *s, __u32 n)
{
	__u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i <= CHAIN_SAVED && i < n; i++) {
		if (unwind_enter(s, c->words[unwind_masked(i, CHAIN_FRAME_WORDS)] - 1))
			break;
	}
	c->n_saved = i;
	barrier(); /* it does not matter in which round the loop ended */
	return c->n_saved;
}

/* See struct chain_guest. */
__noinline int walk_as_loop(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();
	const struct chain_guest *g;
	__u64 at, pc, fp;
	__u32 i, n;

	if (!c || !s || !s->walk.chained || !(c->layout.flags & CHAIN_IN_LOOPS_FRAME))
		return false;
	g = &c->layout.guest;
	n = g->n_saved + 1;
	at = s->walk.exact ? s->walk.ip : s->walk.ip - 1;
	if (at - g->code >= g->code_bytes)
		return false;
	at = s->walk.sp + g->back;
	if (bpf_probe_read_user(c->words, (CHAIN_SAVED + 1) * USER_WORD_BYTES, (void *)at))
		return false;
	i = chain_find_code(c, s, n);
	pc = c->words[unwind_masked(i, CHAIN_FRAME_WORDS)];
	if (i >= n || !chain_is_return(g, pc))
		return false;
	at += i * USER_WORD_BYTES;
	fp = g->fp ? chain_word_at(at + (__u64)(__s64)g->fp) : s->walk.fp;
	s->walk.rbx_at = WALK_RBX_LOST;
	return walk_to(&s->walk, pc, at + USER_WORD_BYTES, fp) == WALK_CONTINUES;
}

#endif /* BPF_CHAIN_LOOP_BPF_H */
