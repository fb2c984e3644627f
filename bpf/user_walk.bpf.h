/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Walking a user stack: registers at the tick → return addresses.
 *
 * We do it ourselves with bpf_probe_read_user() instead of using the kernel's user callchain, which
 * has crashed hosts, follows frame pointers only, returns 127 frames at most and does not report
 * why it stopped.
 *
 * One frame is one call of walk_frame(), which is a global function: the verifier checks it once,
 * by itself, and not again for each round of the loop. So there are no tail calls, and the depth
 * costs the verifier next to nothing. What passes from one frame to the next is in struct scratch.
 *
 * Everything below this file compiles on the host too, where tests run it over recorded stacks.
 *
 * Where an address lies in the loop of an interpreter, a run of the interpreter's own frames is
 * taken (chain_walk.bpf.h).
 */
#ifndef BPF_USER_WALK_BPF_H
#define BPF_USER_WALK_BPF_H

#include <stdbool.h>

#include "chain_walk.bpf.h"
#include "dotnet_walk.bpf.h"
#include "hotspot_walk.bpf.h"
#include "sample_event.h"
#include "unwind_rules.bpf.h"
#include "v8_walk.bpf.h"
#include "walk_state.bpf.h"

/*
 * Frames at most: the walk costs some 50 ns for each, with interrupts off. 1000 calls of Python,
 * its own limit, are up to 4000 native frames until 3.10.
 */
#define WALK_MAX_FRAMES 4032 /* beside the leaf */
_Static_assert(WALK_MAX_FRAMES < CHAIN_REST, "an index of a frame fits into an entry");

/*
 * Keeps the first frames and, in a ring, the last ones. The index is masked, so that old verifiers
 * see that it is in bounds.
 */
static __always_inline void push_user_addr(struct scratch *s, __u64 addr)
{
	__u32 n = s->n_user;

	if (n < SAMPLER_USER_FRAMES)
		s->addrs[unwind_masked(s->event.n_kernel + n, SAMPLER_MAX_ADDRS)] = addr;
	s->root[unwind_masked(n, SAMPLER_ROOT_FRAMES)] = addr;
	s->n_user = n + 1;
}

/*
 * The caller of the frame with this index is below it: a switch to another stack. A good stack has
 * one or two of these; a walk over garbage has many. Returns false if this one is too many. That
 * of the tick may be anywhere.
 */
static __always_inline bool note_stack_switch(struct scratch *s, __u32 index)
{
	__u32 n = s->n_switches;

	if (index == 0 || (n > 0 && s->last_switch == index))
		return true;
	if (n >= SAMPLER_STACK_SWITCHES)
		return false;
	s->event.stack_switch[unwind_masked(n, SAMPLER_STACK_SWITCHES)] = index;
	s->last_switch = index;
	s->n_switches = n + 1;
	return true;
}

/*
 * A rule says that the caller is on another stack, and where: runtimes with stacks of their own
 * (OCaml) change them at each call of C and back. Returns false where such steps turn in a circle:
 * one that was met is remembered, and replaced whenever their number has doubled.
 */
static __always_inline bool note_told_switch(struct scratch *s)
{
	__u32 n = s->n_told + 1;

	if (s->walk.sp == s->told_sp)
		return false;
	if ((n & (n - 1)) == 0)
		s->told_sp = s->walk.sp;
	s->n_told = n;
	return true;
}

/* What the frame is to the interpreter: an enum chain_loop. */
static __always_inline int walk_loop_of(const struct walk *w)
{
	__u64 at = w->exact ? w->ip : w->ip - 1;

	return w->chained && at - w->loop < w->loop_bytes ? chain_loop_at(at) : CHAIN_LOOP_NOT;
}

/* Goes from the frame in s->walk to its caller, and adds that one. */
static __always_inline int next_frame(struct scratch *s)
{
	struct walk *w = &s->walk;
	int loop = walk_loop_of(w);
	__u64 sp = w->sp;
	int end;

	w->descending = false;
	if (w->ip - w->jvm_low < w->jvm_bytes) {
		end = jvm_frame();
	} else if (loop == CHAIN_LOOP_IN_NATIVE) {
		end = v8_next(s);
	} else if (loop == CHAIN_LOOP_ON_PROCESS) {
		end = chain_leave_process();
	} else {
		end = w->by_tables ? walk_by_table(s) : walk_by_frame_pointer(w);
	}
	if (loop == CHAIN_LOOP && end == WALK_CONTINUES && !w->descended && !w->descending &&
	    chain_is_joined(w->ip - 1))
		s->n_user--; /* its caller takes its place */
	else if (loop == CHAIN_LOOP)
		chain_take_run(sp);
	if (end != WALK_CONTINUES)
		return end;
	if (w->descended && !(w->told ? note_told_switch(s) : note_stack_switch(s, s->n_user - 1)))
		return WALK_END_NOT_ASCENDING;
	if (w->descending && !note_stack_switch(s, s->n_user))
		return WALK_END_NOT_ASCENDING;
	push_user_addr(s, w->ip);
	return WALK_CONTINUES;
}

int walk_frame(void);

/* Returns whether there is a caller; if not, s->end says why. */
__noinline int walk_frame(void)
{
	struct scratch *s = get_scratch();

	if (!s) /* cannot be: the array has an element 0 */
		return false;
	s->end = next_frame(s);
	return s->end == WALK_CONTINUES;
}

#define WALK_AT_ONCE 64

int walk_frames(void);

/*
 * Goes on by WALK_AT_ONCE frames. Returns whether there is a caller. The verifier follows each
 * round of a loop: two loops of 64 rounds are much less to it than one of 4096.
 */
__noinline int walk_frames(void)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < WALK_AT_ONCE; i++) {
		if (!walk_frame())
			return false;
	}
	return true;
}

int join_root(void);

/*
 * Of a stack that is too deep, keep the leaf's part and the root's. If the walk did not come to an
 * end, its last frames are not the root, and only the leaf's part is kept.
 */
__noinline int join_root(void)
{
	struct scratch *s = get_scratch();
	__u32 at, first;

	if (!s || s->end == WALK_END_DEPTH_LIMIT)
		return 0;
	at = s->event.n_kernel + SAMPLER_ROOT_AT;
	first = s->n_user;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SAMPLER_ROOT_FRAMES; i++)
		s->addrs[unwind_masked(at + i, SAMPLER_MAX_ADDRS)] =
			s->root[unwind_masked(first + i, SAMPLER_ROOT_FRAMES)];
	s->event.root_at = SAMPLER_ROOT_AT;
	if (s->end == WALK_END_BOTTOM)
		s->end = WALK_END_DEPTH_LIMIT;
	return 0;
}

/* Walks from the registers in s->walk. */
static __always_inline enum walk_end walk_user(struct scratch *s)
{
	user_memory_begin(&s->walk.stack);
	s->n_told = 0;
	s->told_sp = 0;
	push_user_addr(s, s->walk.ip);
	if (s->walk.compat)
		return WALK_END_COMPAT;
#pragma clang loop unroll(disable)
	for (int i = 0; i < WALK_MAX_FRAMES / WALK_AT_ONCE; i++) {
		if (!walk_frames())
			break;
	}
	barrier(); /* from here on, it does not matter in which round the loop ended */
	if (s->end == WALK_CONTINUES)
		s->end = WALK_END_DEPTH_LIMIT;
	s->n_walked = s->n_user;
	if (s->n_user > SAMPLER_USER_FRAMES) {
		join_root();
		s->n_user = SAMPLER_USER_FRAMES;
	}
	return s->end;
}

#endif /* BPF_USER_WALK_BPF_H */
