/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Frames that those know who call the interpreter's loop: see struct chain_calls.
 *
 * The state that a call of the loop is for is a word of the native frame below it. The loop's
 * prologue has saved the register that had it, or it is on the caller's stack; a compiler decides
 * once per function, and user space has read its decision in the instructions. So the word is that
 * state, and not one that may be left over from an earlier call; that its kind is checked is for
 * what user space may have misread, and for processes that lie.
 */
#ifndef BPF_CHAIN_CALLS_BPF_H
#define BPF_CHAIN_CALLS_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "chain_memory.bpf.h"
#include "chain_state.bpf.h"
#include "frame_chain.h"
#include "walk_state.bpf.h"

/* ---- states ---- */

/* Whether the leaf is in these first bytes of the loop. */
static __always_inline bool chain_is_entry(const struct chain_scratch *c, const struct scratch *s,
					   __u32 bytes)
{
	__u64 leaf = s->addrs[unwind_masked(s->event.n_kernel, SAMPLER_MAX_ADDRS)];

	return s->n_user == 1 && s->walk.was_exact && leaf - c->layout.loop < bytes;
}

/* Where the function at the offset from the loop has the state; 0: it is no caller of the loop. */
static __always_inline __u64 chain_state_at(const struct chain_calls *k, __u64 sp, __u32 offset)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < CHAIN_SITES; i++) {
		const struct chain_site *site = &k->sites[unwind_masked(i, 32)];

		if (offset - site->start < site->n_bytes)
			return sp + (__u64)(__s64)site->at;
	}
	return 0;
}

int chain_find_state(void);

/*
 * Stores the state that the loop was called for by the native frame in s->walk, or 0. A global
 * function, like walk_frame().
 */
__noinline int chain_find_state(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();
	const struct chain_calls *k;
	__u64 offset, state;

	if (!c || !s)
		return 0;
	c->found = 0;
	k = &c->layout.calls;
	offset = s->walk.ip - 1 - c->layout.loop;
	if (offset + (1ULL << 31) >= 1ULL << 32)
		return 0;
	if (chain_is_entry(c, s, k->entry_bytes)) /* it may not have saved the register yet */
		state = s->walk.registers[unwind_masked(k->argument, WALK_REGISTERS)];
	else
		state = chain_word_at(chain_state_at(k, s->walk.sp, (__u32)offset));
	if (state && (chain_word_at(state + k->kind) & 0xff) == k->state_kind)
		c->found = state;
	return 0;
}

static __always_inline void chain_enter_state(struct chain_scratch *c, __u64 state)
{
	const struct chain_calls *k = &c->layout.calls;

	c->state = state;
	c->n_states++;
	c->frame = chain_word_at(state + k->frame);
	c->at = k->at ? chain_word_at(state + k->at) : 0;
}

/* ---- frames ---- */

/*
 * Where the innermost frame is in its code. The loop has that in a register, and does not always
 * store it: it is believed if it is in the code. Returns 0 if the frame has not begun: its call is
 * prepared, by functions below the loop of its caller.
 */
static __always_inline __u64 chain_innermost_at(const struct chain_scratch *c, __u64 code, __u64 at)
{
	const struct chain_calls *k = &c->layout.calls;
	__u64 begin = chain_word_at(code + c->layout.frames.check_more), exact;
	__u64 bytes = (__u64)(__u32)chain_word_at(code + k->size) * 4;
	struct scratch *s = get_scratch();

	if (s && k->next_instruction < WALK_REGISTERS) {
		exact = s->walk.registers[unwind_masked(k->next_instruction, WALK_REGISTERS)];
		if (exact - begin - 1 < bytes)
			return exact;
	}
	return at - begin - 1 < bytes || c->index == 0 ? at : 0;
}

/* Whether the frame that was read, and was compiled, is the last one of its run. */
static __always_inline bool chain_is_last_call(const struct chain_scratch *c)
{
	const struct chain_frames *f = &c->layout.frames;
	struct scratch *s = get_scratch();

	if ((chain_word_of(c, f->end) & f->end_mask) == f->end_value)
		return true;
	return s && c->event.n_chain == 1 && chain_is_entry(c, s, c->layout.calls.mark_bytes);
}

static __always_inline void chain_push_call(struct chain_scratch *c, __u64 code, __u64 at,
					    bool native)
{
	const struct chain_frames *f = &c->layout.frames;
	__u64 tail = chain_word_of(c, f->end) & c->layout.calls.tail ? CHAIN_AT_TAIL : 0;

	if (native) {
		chain_push_entry(c, code, CHAIN_AT_NATIVE | tail, 0);
		return;
	}
	chain_push_entry(c, code, (at & ~3ULL) | tail,
			 chain_check(chain_word_at(code + f->check)) ^
				 chain_check(chain_word_at(code + f->check_more)));
	c->n_compiled = c->event.n_chain;
}

/* There are no more: C functions behind the last one that was compiled are native frames only. */
static __always_inline int chain_end_calls(struct chain_scratch *c)
{
	c->frame = 0;
	c->event.n_chain = (__u16)c->n_compiled;
	return 0;
}

/* Takes the frame at this address, which was read, with this function. Returns whether to go on. */
static __always_inline int chain_take_call(struct chain_scratch *c, __u64 frame,
					   const __u64 value[2])
{
	const struct chain_frames *f = &c->layout.frames;
	const struct chain_calls *k = &c->layout.calls;
	__u64 code = value[0], at = chain_word_of(c, f->at);
	bool native = true, ended = c->ends && !c->rest;

	if ((value[1] & 0x3f) != k->light) {
		chain_read_object(value[0], k->kind, k->code);
		native = chain_object_word(c, value[0] + k->kind) & k->native;
		code = chain_object_word(c, value[0] + k->code);
	}
	if (!native && c->at)
		at = c->at;
	if (ended &&
	    (native || !(k->call_codes >> (chain_word_at(at - 4) & 0x3f) & 1))) { /* the next run */
		c->frame = frame;
		return 0;
	}
	c->at = 0;
	c->ends = k->is_array && !native;
	c->frame = k->is_array ? frame + (__u64)(__s64)f->next : chain_word_of(c, (__u16)f->next);
	if (!native && c->event.n_chain == 0) {
		at = chain_innermost_at(c, code, at);
		if (!at) {
			c->ends = false;
			return c->frame != 0;
		}
	}
	chain_push_call(c, code, at, native);
	if (c->rest && !native && !k->is_array)
		c->n_rest += chain_is_last_call(c);
	if (native || k->is_array || c->rest)
		return c->frame != 0;
	return !chain_is_last_call(c);
}

int chain_call_step(void);

/* Takes the frame in c->frame. Returns whether to go on. A global function. */
__noinline int chain_call_step(void)
{
	struct chain_scratch *c = get_chain_scratch();
	__u64 frame, value[2];

	if (!c || !c->frame)
		return 0;
	frame = c->frame;
	c->frame = 0;
	if (++c->n_taken > CHAIN_TAKES) {
		c->cut = true;
		return 0;
	}
	if (!chain_read_frame(c, frame) ||
	    bpf_probe_read_user(value, sizeof(value),
				(void *)chain_word_of(c, c->layout.calls.value))) {
		c->broken = true;
		return 0;
	}
	if ((value[1] & 0xf) != c->layout.calls.function_kind)
		return chain_end_calls(c);
	return chain_take_call(c, frame, value);
}

#endif /* BPF_CHAIN_CALLS_BPF_H */
