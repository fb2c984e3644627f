/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Frames that are values in an array: see struct chain_slots.
 *
 * The position in a function's code and the address of its first value are in registers of the
 * loop, which stores them only when C code may need them. So each is looked for in several places,
 * and checked:
 * the value of a function has to be there, and an instruction has to be one of its caller's code.
 * What fails ends the walk over the state: its callers are not known, rather than made up.
 */
#ifndef BPF_CHAIN_SLOTS_BPF_H
#define BPF_CHAIN_SLOTS_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "chain_state.bpf.h"
#include "frame_chain.h"
#include "unwind_rules.bpf.h"
#include "walk_state.bpf.h"

__u64 slot_word(__u64 at);

/* chain_word_at() as a global function: there are many here, and the verifier follows each. */
__noinline __u64 slot_word(__u64 at)
{
	return chain_word_at(at);
}

/* ---- C frames ---- */

/*
 * How far a C frame is looked for above the stack pointer, where it may be at each 16 bytes:
 * generated code has up to 1 KiB, 16 bytes, and what saves its registers 248. In two loops, as
 * walk_frames().
 */
#define SLOT_TRIES 81
#define SLOT_AT_ONCE 9

int slot_try(__u64 at);

/* Whether the C frame of a call of the loop is there; stores its state. A global function. */
__noinline int slot_try(__u64 at)
{
	struct chain_scratch *c = get_chain_scratch();
	const struct chain_slots *k;
	__u64 state, expected;

	if (!c)
		return 0;
	k = &c->layout.slots;
	state = slot_word(at + k->state);
	if (state < PAGE_ZERO_END || state & 7)
		return 0;
	expected = state == c->state ? c->below : slot_word(state + k->c_frame);
	if ((expected & ~3ULL) != at || (slot_word(state + k->kind) >> 8 & 0xff) != k->state_kind)
		return 0;
	c->found = state;
	return 1;
}

int slot_find_some(__u64 at);

/* The same of SLOT_AT_ONCE places; stores which one it is. */
__noinline int slot_find_some(__u64 at)
{
	struct chain_scratch *c = get_chain_scratch();

	if (!c)
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < SLOT_AT_ONCE; i++, at += 16) {
		c->low = at;
		if (slot_try(at))
			return 1;
	}
	return 0;
}

int slot_find(__u64 sp);

/* Finds the C frame that the stack pointer is in. */
__noinline int slot_find(__u64 sp)
{
	__u64 at = (sp + 15) & ~15ULL;

#pragma clang loop unroll(disable)
	for (int i = 0; i < SLOT_TRIES / SLOT_AT_ONCE; i++, at += 16 * SLOT_AT_ONCE) {
		if (slot_find_some(at))
			return 1;
	}
	return 0;
}

/* ---- states ---- */

/* Whether a function may have its first value there. */
static __always_inline bool slot_is_base(const struct chain_scratch *c, __u64 base)
{
	return base - c->first - 17 < c->high - c->first - 17 && base % 8 == 0 &&
	       slot_word(base - 16) >> CHAIN_VALUE_BITS == c->layout.slots.function_tag;
}

/* Where generated code has begun, if it runs; 0: none does. */
static __always_inline __u64 slot_trace_base(const struct chain_scratch *c, __u64 state)
{
	const struct chain_slots *k = &c->layout.slots;

	if (c->n_states > 0) /* it calls no other */
		return 0;
	return slot_word(slot_word(state + k->globals) + (__s64)k->trace_base);
}

#define SLOT_BYTES_MAX (1U << 24) /* of an array */

/* Whether this may be what says the caller of a function that is called: see struct chain_slots. */
static __always_inline bool slot_is_link(__u64 link)
{
	return (link & 3) == (link < SLOT_BYTES_MAX ? CHAIN_LINK_C : CHAIN_LINK_CODE);
}

/*
 * The same of the code that was interrupted, in the loop. When a function is called, what says its
 * caller, c->at, is in a register before it is stored; when it returns to C code, there is the
 * first value of that code's function. Until the first has become a function, and from then on, the
 * call of the loop has none.
 */
static __always_inline __u64 slot_base_of_leaf(struct chain_scratch *c, const struct walk *w,
					       __u64 state)
{
	const struct chain_slots *k = &c->layout.slots;
	__u64 globals = slot_word(state + k->globals), stored = slot_word(state + k->base);
	__u64 base = w->registers[unwind_masked(k->base_register, WALK_REGISTERS)];
	bool is_base = slot_is_base(c, base);

	if ((c->at & 3) == CHAIN_LINK_C && (base == stored || !is_base) &&
	    slot_word(stored - 8) != c->at) {
		c->is_between = true;
		return stored;
	}
	if ((__u32)slot_word(globals + (__s64)k->trace_number) == k->in_c) {
		c->is_between = slot_is_base(c, c->at);
		if (c->is_between)
			return c->at;
		return is_base ? base : stored;
	}
	c->is_loose = is_base && slot_is_link(c->at);
	return is_base ? base : 0;
}

/* Goes to the frames of a state. */
static __always_inline void slot_enter(struct chain_scratch *c, const struct walk *w, __u64 state)
{
	const struct chain_slots *k = &c->layout.slots;

	c->state = state;
	c->n_states++;
	c->first = slot_word(state + k->first);
	c->high = slot_word(state + k->last);
	c->frame = c->trace;
	if (!c->frame && w->exact)
		c->frame = c->low - w->sp < 16 ? slot_base_of_leaf(c, w, state)
					       : slot_word(state + k->base);
	if (!c->frame && slot_is_base(c, w->fp))
		c->frame = w->fp;
	if (!c->frame)
		c->frame = slot_word(state + k->base);
}

/* ---- frames ---- */

/* Whether this is the next instruction of a function with this code, or the first one. */
static __always_inline bool slot_is_in(const struct chain_slots *k, __u64 code, __u64 at)
{
	__u64 bytes = (__u64)(__u32)slot_word(code + k->size) * 4;

	return at - code - k->code_bytes <= bytes;
}

int slot_add(__u64 code, __u64 at);

/* Adds an entry. It calls none: the kernel allows eight, one within the other. */
__noinline int slot_add(__u64 code, __u64 at)
{
	struct chain_scratch *c = get_chain_scratch();
	__u32 check = 0;

	if (!c)
		return 0;
	if (at != CHAIN_AT_NATIVE)
		check = chain_check(chain_word_at(code + c->layout.frames.check)) ^
			chain_check(chain_word_at(code + c->layout.frames.check_more));
	chain_push_entry(c, code, at, check);
	if (at != CHAIN_AT_NATIVE)
		c->n_compiled = c->event.n_chain;
	return 0;
}

/* Returns false if nothing is to be believed from here on. */
static __always_inline bool slot_push(struct chain_scratch *c, __u64 function)
{
	const struct chain_slots *k = &c->layout.slots;
	__u64 at = c->at, code;

	if (slot_word(function + k->function_kind) >> 16 & 0xff) {
		slot_add(function, CHAIN_AT_NATIVE);
		return true;
	}
	code = slot_word(function + k->instructions) - k->code_bytes;
	if (!slot_is_in(k, code, at)) {
		if (at && !c->is_first)
			return false;
		if (c->is_loose) /* it has not begun, and what says its caller is not stored yet */
			c->words[3] = at;
		at = c->is_first && slot_is_in(k, code, c->kept_at) ? c->kept_at : 0;
	}
	slot_add(code, at);
	return true;
}

/* There are no more: as chain_end_calls(). */
static __always_inline int slot_end(struct chain_scratch *c)
{
	c->frame = 0;
	c->event.n_chain = (__u16)c->n_compiled;
	return 0;
}

/* Goes to the caller, by words below a function's first value. Returns false if there is none. */
static __always_inline bool slot_to_caller(struct chain_scratch *c, __u64 base)
{
	__u64 link = c->words[3], kind = link & 7, distance = (__u32)link & ~7ULL;

	if (kind != CHAIN_LINK_ARGUMENTS)
		c->at = kind == CHAIN_LINK_CONTINUES ? c->words[1] : 0;
	if ((kind & 3) == CHAIN_LINK_CODE) {
		c->at = link;
		distance = link < PAGE_ZERO_END ? 0 : 16 + (slot_word(link - 4) >> 8 & 0xff) * 8;
	}
	c->frame = base - distance;
	return distance >= 16;
}

/*
 * Takes the function in c->words. Returns false if there is none, or it is not to be believed. The
 * state itself is in place of a function while an operand of an instruction has none to be called.
 */
static __always_inline bool slot_take(struct chain_scratch *c)
{
	__u64 value = c->words[2], object = value & CHAIN_VALUE_MASK;

	if (value >> CHAIN_VALUE_BITS != c->layout.slots.function_tag)
		return object == c->state;
	if ((c->words[3] & 7) == CHAIN_LINK_ARGUMENTS)
		return true;
	if (!slot_push(c, object))
		return false;
	c->is_first = false;
	return true;
}

static __always_inline int slot_break(struct chain_scratch *c)
{
	c->broken = true;
	return slot_end(c);
}

int chain_slot_step(void);

/* Takes the function whose first value is at c->frame. Returns whether to go on. */
__noinline int chain_slot_step(void)
{
	struct chain_scratch *c = get_chain_scratch();
	__u64 base, kind;

	if (!c || !c->frame)
		return 0;
	base = c->frame;
	c->frame = 0;
	if (++c->n_taken > CHAIN_TAKES) {
		c->cut = true;
		return 0;
	}
	if (base - c->first <= 16)
		return slot_end(c);
	if (base - c->first > c->high - c->first ||
	    bpf_probe_read_user(c->words, 32, (void *)(base - 32)))
		return slot_break(c);
	if (!slot_take(c) || !slot_to_caller(c, base))
		return slot_break(c);
	kind = c->words[3] & 7;
	return c->rest ||
	       ((kind & 3) != CHAIN_LINK_C && !(kind == CHAIN_LINK_CONTINUES && c->words[0] == 1));
}

/* The generated code that runs. */
static __always_inline void slot_push_trace(struct chain_scratch *c)
{
	const struct chain_slots *k = &c->layout.slots;
	__u64 globals = slot_word(c->state + k->globals), trace, code, at;
	__s32 number = (__s32)slot_word(globals + (__s64)k->trace_number);

	if (number < 0)
		return;
	trace = slot_word(slot_word(globals + (__s64)k->traces) + (__u64)number * 8);
	code = slot_word(trace + k->trace_code);
	at = slot_word(trace + k->trace_at) + 4;
	if (!slot_is_in(k, code, at))
		return;
	slot_add(code, at | CHAIN_AT_TRACE);
	c->at = at; /* of the innermost frame, if it is the same function */
}

/* ---- runs ---- */

int chain_run(__u32 index); /* in chain_walk.bpf.h */

/* Whether this call of the loop has no function, as those for C code. */
static __always_inline bool slot_is_empty(const struct chain_scratch *c, __s32 results)
{
	return results < 0 && c->frame - 8 < c->first - (__u64)(__s64)results;
}

/*
 * The walk has come to a frame in the loop, or in generated code. Takes its run, and makes the
 * stack pointer that of the loop.
 */
static __always_inline void chain_take_slots(struct chain_scratch *c, struct scratch *s)
{
	const struct chain_slots *k = &c->layout.slots;

	if (!slot_find(s->walk.sp))
		return;
	c->trace = slot_trace_base(c, c->found);
	c->generated = s->walk.ip - !s->walk.exact - c->layout.loop >= c->layout.loop_bytes;
	if ((c->generated && !c->trace) ||
	    bpf_probe_read_user(c->c_frame, sizeof(c->c_frame), (void *)(c->low + k->from)))
		return;
	c->index = s->n_user - 1;
	c->is_first = c->is_loose = c->is_between = false;
	if (c->found != c->state) {
		c->leaving = true;
		chain_run(c->index);
		c->leaving = false;
	}
	c->at = 0;
	if (!c->trace)
		(void)walk_rbx(&s->walk, &c->at);
	if (c->found != c->state)
		slot_enter(c, &s->walk, c->found);
	c->kept_at = c->trace ? 0 : c->c_frame[2];
	c->below = c->c_frame[3];
	c->is_first = true;
	s->walk.sp = c->low;
	if (c->generated) {
		s->walk.ip = c->layout.loop + k->resumes_at;
		s->walk.exact = false;
	}
	if (c->is_between || slot_is_empty(c, (__s32)c->c_frame[0]))
		return;
	if (c->trace)
		slot_push_trace(c);
	chain_run(c->index);
}

#endif /* BPF_CHAIN_SLOTS_BPF_H */
