/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Frames on the stack of a process of Erlang: see struct chain_scan.
 *
 * Other layouts say where the next frame is. Here nothing does but the words themselves, and no
 * path leads from generated code back to the thread's stack. So this is a step of its own, and the
 * one other thing that is known of generated code: how it takes its stack back from a C function.
 */
#ifndef BPF_CHAIN_SCAN_BPF_H
#define BPF_CHAIN_SCAN_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "chain_code.bpf.h"
#include "chain_state.bpf.h"
#include "frame_chain.h"
#include "unwind_lookup.bpf.h"
#include "unwind_rules.bpf.h"
#include "walk_state.bpf.h"

#define CHAIN_VALUE_TAGS 3ULL /* not 0 in values */

static __always_inline bool chain_is_generated(struct scratch *s, __u64 address)
{
	return unwind_enter(s, address) && s->walk.mappings.table == UNWIND_TABLE_ANONYMOUS;
}

static __always_inline void chain_push_place(struct chain_scratch *c, __u64 pc)
{
	chain_push_entry(c, pc & ~7ULL, pc, chain_check(chain_word_at(pc & ~7ULL)));
}

/* ---- where the stack begins ---- */

/* The address, if it is one of the memory of the process that runs; 0: it is not. */
static __always_inline __u64 chain_top_in(const struct chain_scratch *c, __u64 top)
{
	__u64 lowest = chain_word_at(c->state + c->layout.scan.lowest);

	return top % USER_WORD_BYTES == 0 && top - lowest <= c->first - lowest ? top : 0;
}

enum chain_top { CHAIN_TOP_UNKNOWN, CHAIN_TOP_IN_FRAME_POINTER, CHAIN_TOP_IN_PROCESS };

/* Where the instructions that follow take the stack from. */
static __always_inline enum chain_top chain_top_by_code(struct chain_scratch *c, __u64 ip)
{
	const struct chain_scan *k = &c->layout.scan;
	int by_register, by_process;

	if (bpf_probe_read_user(c->words, (CHAIN_CODE_WORDS + 1) * 8, (void *)ip))
		return CHAIN_TOP_UNKNOWN;
	by_register = chain_code_find(CHAIN_CODE_WORDS, k->from_frame_pointer, 0xffffff);
	by_process = chain_code_find(CHAIN_CODE_WORDS, k->from_process, ~0U);
	if (by_register == by_process)
		return CHAIN_TOP_UNKNOWN;
	return by_register < by_process ? CHAIN_TOP_IN_FRAME_POINTER : CHAIN_TOP_IN_PROCESS;
}

int chain_find_top(void);

/*
 * Stores the top of the stack of the process, or 0: no process runs, or it is not known where its
 * stack is. The code in s->walk is on that stack, or on the thread's if it calls a C function, is
 * about to, or has just done so. A global function.
 */
__noinline int chain_find_top(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();
	__u64 word;

	if (!c || !s)
		return 0;
	c->found = 0;
	if (!c->state)
		return 0;
	if (s->walk.exact)
		c->found = chain_top_in(c, s->walk.sp);
	if (!c->found) {
		switch (chain_top_by_code(c, s->walk.ip)) {
		case CHAIN_TOP_IN_FRAME_POINTER:
			c->found = chain_top_in(c, s->walk.fp);
			break;
		case CHAIN_TOP_IN_PROCESS:
			c->found = chain_top_in(c, chain_word_at(c->state + c->layout.scan.top));
			break;
		default:
			break;
		}
	}
	if (!c->found)
		return 0;
	/* a leaf that generated code has called: its return address may be any instruction */
	word = chain_word_at(c->found);
	if (word & CHAIN_VALUE_TAGS && chain_is_generated(s, word)) {
		chain_push_place(c, word - 1);
		c->found += USER_WORD_BYTES;
	}
	return 0;
}

/* ---- frames ---- */

/* The number of the lowest bit that is set, up to CHAIN_FRAME_WORDS; that one is, if no other. */
static __always_inline __u64 chain_lowest_bit(__u64 bits)
{
	__u64 below;

	bits |= 1ULL << CHAIN_FRAME_WORDS;
	below = (bits & -bits) - 1; /* its number is that of the bits here */
	below = (below & 0x5555) + (below >> 1 & 0x5555);
	below = (below & 0x3333) + (below >> 2 & 0x3333);
	below = (below & 0x0f0f) + (below >> 4 & 0x0f0f);
	return (below & 0xff) + (below >> 8);
}

/*
 * The index of the first return address in c->words; CHAIN_FRAME_WORDS: there is none. Has no
 * branches, which the verifier would follow to 65,536 ends.
 */
static __always_inline __u64 chain_find_return(const struct chain_scratch *c)
{
	__u64 returns = 0;

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < CHAIN_FRAME_WORDS; i++) {
		__u64 tag = c->words[i] & CHAIN_VALUE_TAGS;

		barrier_var(tag); /* keeps clang from making it a branch */
		returns |= (((tag + 3) >> 2) ^ 1) << i;
	}
	return chain_lowest_bit(returns);
}

int chain_scan_step(void);

/* Goes to the next return address, and takes it. Returns whether to go on. A global function. */
__noinline int chain_scan_step(void)
{
	struct chain_scratch *c = get_chain_scratch();
	__u64 at, bytes, index, word;

	if (!c || c->frame >= c->first)
		return 0;
	at = c->frame;
	c->frame = 0;
	if (++c->n_taken > CHAIN_TAKES) {
		c->cut = true;
		return 0;
	}
	bytes = c->first - at;
	if (bytes > sizeof(c->words))
		bytes = sizeof(c->words);
	if (bpf_probe_read_user(c->words, bytes, (void *)at)) {
		c->broken = true;
		return 0;
	}
	index = chain_find_return(c);
	at += index * USER_WORD_BYTES;
	if (at >= c->first)
		return 0;
	c->frame = at;
	if (index == CHAIN_FRAME_WORDS)
		return 1;
	c->frame += USER_WORD_BYTES;
	word = c->words[unwind_masked(index, CHAIN_FRAME_WORDS)];
	if (word >= PAGE_ZERO_END && !chain_top_in(c, word)) /* nor a frame pointer (+JPfp) */
		chain_push_place(c, word - 1);
	return c->frame != 0;
}

/* ---- where the stack of the thread goes on ---- */

int chain_find_word(__u64 at, __u64 low, __u64 bytes);

/*
 * Reads CHAIN_FRAME_WORDS at an address, into c->words. Returns the index of the first one that is
 * in [low, low + bytes), which is below the middle of all addresses; CHAIN_FRAME_WORDS: none is, or
 * they cannot be read. A global function. Has no branches but that, like chain_find_return().
 */
__noinline int chain_find_word(__u64 at, __u64 low, __u64 bytes)
{
	struct chain_scratch *c = get_chain_scratch();
	__u64 found = 0;

	if (!c || bpf_probe_read_user(c->words, sizeof(c->words), (void *)at))
		return CHAIN_FRAME_WORDS;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < CHAIN_FRAME_WORDS; i++) {
		__u64 beyond = c->words[i] - low; /* its upper bit is set if it is not in there */

		beyond |= bytes - 1 - beyond;
		barrier_var(beyond);
		found |= (~beyond >> 63) << i;
	}
	return (int)chain_lowest_bit(found);
}

/* Goes to the function that has called generated code. Returns like a step of the native walk. */
static __always_inline int chain_find_back(struct chain_scratch *c, struct scratch *s)
{
	__u64 at = c->stack + c->layout.scan.back_at, back = c->layout.scan.back;
	__u32 i = c->stack ? (__u32)chain_find_word(at, back, 1) : CHAIN_FRAME_WORDS;
	int end;

	if (i >= CHAIN_FRAME_WORDS)
		return WALK_END_JIT;
	s->walk.rbx_at = WALK_RBX_LOST;
	end = walk_to(&s->walk, back, at + (i + 1) * USER_WORD_BYTES, 0);
	s->walk.descended = false; /* it may be anywhere */
	return end;
}

/* ---- processes ---- */

/* In chain_walk.bpf.h. */
int chain_follow(__u32 number);
int chain_run(__u32 index);

int chain_leave_process(void);

/*
 * Takes the frames of the process that the code in s->walk runs, and goes to the function that has
 * called generated code. Returns like a step of the native walk. A global function.
 */
__noinline int chain_leave_process(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();

	if (!c || !s)
		return WALK_END_JIT;
	c->index = s->n_user - 1;
	chain_push_place(c, s->walk.exact ? s->walk.ip : s->walk.ip - 1);
	chain_find_top();
	c->frame = c->found;
	chain_run(c->index);
	c->frame = 0;
	return chain_find_back(c, s);
}

/*
 * Finds the process that the thread runs, and the registers of its scheduler. Returns whether the
 * thread is one of a scheduler.
 */
static __always_inline bool chain_enter_process(struct chain_scratch *c)
{
	const struct chain_scan *k = &c->layout.scan;

	c->state = c->found;
	chain_follow(1);
	c->stack = c->found;
	c->first = c->state ? chain_word_at(c->state + k->end) : 0;
	c->frame = c->state ? chain_top_in(c, chain_word_at(c->state + k->top)) : 0;
	return c->stack != 0;
}

#endif /* BPF_CHAIN_SCAN_BPF_H */
