/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Walking the frames of an interpreter, as the layout of the process says (frame_chain.h).
 *
 * Beside the walk over native frames stands a second place: the frame of the interpreter that is to
 * be taken next. Whenever the native walk comes by the interpreter's loop, a run of frames is taken
 * and the place moves on. What the process's memory says is believed only as far as it costs no
 * more than CHAIN_ENTRIES steps.
 *
 * All of this is in a map of its own, as processes without an interpreter do without it. So is the
 * record: frames come before the addresses, because their number is known only at the end and one
 * of the two has to be moved then.
 */
#ifndef BPF_CHAIN_WALK_BPF_H
#define BPF_CHAIN_WALK_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "chain_calls.bpf.h"
#include "chain_loop.bpf.h"
#include "chain_memory.bpf.h"
#include "chain_scan.bpf.h"
#include "chain_slots.bpf.h"
#include "chain_state.bpf.h"
#include "chain_tasks.bpf.h"
#include "frame_chain.h"
#include "sample_event.h"
#include "unwind_lookup.bpf.h"
#include "walk_state.bpf.h"

/* ---- paths ---- */

/* The value of a key, or where the variables of a module are; 0: none. */
static __always_inline __u64 chain_value_of_key(const struct chain_path *p, __u64 thread_pointer)
{
	const struct chain_table *t = &p->table;
	__u64 word = chain_word_at(p->word), key = (__u32)word, block;
	__u32 block_shift = t->block_shift & 31;

	if (t->key_shift == 32) {
		if (key == 0)
			return 0;
		key = word >> 32;
	}
	if (key >= CHAIN_KEYS)
		return 0;
	block = chain_word_at(thread_pointer + (__s64)t->blocks + (key >> block_shift) * 8);
	if (!block)
		return 0;
	key &= (1U << block_shift) - 1;
	return chain_word_at(block + key * t->stride + t->value);
}

/* What a path starts from. Returns false if there is none. */
static __always_inline bool chain_origin_of(const struct chain_path *p, __u64 thread_pointer,
					    __u64 *ret)
{
	switch (p->origin) {
	case CHAIN_THREAD:
		*ret = thread_pointer;
		return true;
	case CHAIN_FIXED:
		*ret = 0;
		return true;
	case CHAIN_THREAD_AT:
		*ret = thread_pointer + chain_word_at(p->word);
		return true;
	case CHAIN_KEY:
		*ret = chain_value_of_key(p, thread_pointer);
		return *ret != 0;
	default:
		return false;
	}
}

/* Numbers of the paths that follow those. */
#define CHAIN_THREAD_PATH (CHAIN_PATHS + CHAIN_STATES) /* layout.thread */
#define CHAIN_FIRST_AT (CHAIN_THREAD_PATH + 1)         /* layout.first_at */

int chain_follow(__u32 number);

/*
 * Follows a path, of all that a layout has, and stores what it leads to, or 0. A global function,
 * like walk_frame(): it is verified once.
 */
__noinline int chain_follow(__u32 number)
{
	struct chain_scratch *c = get_chain_scratch();
	const struct chain_path *p;
	__u64 at = 0;

	if (!c || number > CHAIN_FIRST_AT)
		return 0;
	c->found = 0;
	if (number < CHAIN_PATHS)
		p = &c->layout.paths[number & (CHAIN_PATHS - 1)];
	else if (number < CHAIN_THREAD_PATH)
		p = &c->layout.states[(number - CHAIN_PATHS) & (CHAIN_STATES - 1)];
	else
		p = number == CHAIN_FIRST_AT ? &c->layout.first_at : &c->layout.thread;
	if (!chain_origin_of(p, c->thread_pointer, &at))
		return 0;
	if (number < CHAIN_PATHS)
		c->own = at;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < CHAIN_STEPS; i++) {
		if (i >= p->n_steps)
			break;
		at = chain_word_at(at + (__u64)p->steps[i]);
		if (!at || (i + 1 == p->own && at != c->own)) /* none; or of another thread */
			return 0;
		if (i + 1 == p->anchor)
			c->anchor = at;
	}
	c->found = at;
	return 0;
}

/* ---- frames ---- */

/* What tells which frames end a run. */
static __always_inline __u64 chain_end_word(const struct chain_scratch *c)
{
	const struct chain_frames *f = &c->layout.frames;
	__u64 word = chain_word_of(c, f->end);

	return f->end_at == CHAIN_END_HERE ? word : chain_object_word(c, word + (__s64)f->end_at);
}

static __always_inline bool chain_matches(const struct chain_scratch *c)
{
	const struct chain_frames *f = &c->layout.frames;
	__u64 word = chain_end_word(c);

	if ((word & f->end_mask) < f->end_value)
		return false;
	return !f->end_code ||
	       chain_object_word(c, chain_word_of(c, f->code) & ~7ULL) & f->end_code;
}

/* See struct chain_frames. */
static __always_inline __u32 chain_check_of(struct chain_scratch *c, __u64 code)
{
	const struct chain_frames *f = &c->layout.frames;
	__u64 one = code + f->check, more;

	if (!f->check_more)
		return chain_check(chain_word_again(c, one));
	one = chain_object_word(c, one) + (__u64)(__s64)f->check_at;
	more = chain_object_word(c, code + f->check_more) + (__u64)(__s64)f->check_at;
	return chain_check(chain_word_at(one)) ^ chain_check(chain_word_again(c, more));
}

static __always_inline void chain_read_environment(const struct chain_scratch *c, __u64 at)
{
	chain_read_object(at, c->layout.frames.owner.value, c->layout.frames.owner.last);
}

/* The owner that an environment, which was read, has; 0: none. */
static __always_inline __u64 chain_owner_in(const struct chain_scratch *c, __u64 environment)
{
	const struct chain_owner *o = &c->layout.frames.owner;
	__u64 object = chain_object_word(c, environment + (__u64)(__s64)o->value);
	__u64 kind = object ? chain_word_at(object) & o->kind_mask : 0;

	if (kind != o->box)
		return kind == o->kind ? object : 0;
	object = chain_word_at(object + o->box_value);
	return object && (chain_word_at(object) & o->kind_mask) == o->kind ? object : 0;
}

int chain_find_owner(void);

/* Finds the owner of the frame that was read. A global function. */
__noinline int chain_find_owner(void)
{
	struct chain_scratch *c = get_chain_scratch();
	const struct chain_owner *o;
	__u64 environment;

	if (!c)
		return 0;
	o = &c->layout.frames.owner;
	c->owner = 0;
	environment = chain_word_of(c, o->environment);
#pragma clang loop unroll(disable)
	for (int i = 0; i < CHAIN_OWNER_STEPS && environment; i++) {
		if (i > 0)
			chain_read_environment(c, environment);
		c->owner = chain_owner_in(c, environment);
		if (c->owner ||
		    chain_object_word(c, environment + (__u64)(__s64)o->last) & o->last_mask)
			break;
		environment = chain_object_word(c, environment + (__u64)(__s64)o->next) & ~7ULL;
	}
	return 0;
}

/* Sets what an entry has of a frame with an owner. */
static __always_inline void chain_use_owner(const struct chain_scratch *c, __u64 *code, __u64 *at,
					    __u32 *check)
{
	const struct chain_owner *o = &c->layout.frames.owner;
	__u64 body;

	if (*code == 0) {
		*code = c->owner;
		*check = chain_check(chain_word_at(c->owner + o->body));
		return;
	}
	body = chain_word_at(*code + o->body);
	*check = chain_check_at((*at - chain_word_at(body + o->first)) / 8, body);
	*at = c->owner;
}

static __always_inline void chain_push(struct chain_scratch *c)
{
	const struct chain_frames *f = &c->layout.frames;
	__u64 code = chain_word_of(c, f->code) & ~7ULL;
	__u64 at = chain_word_of(c, f->at) & f->at_mask;
	__u32 check;

	if (f->owner.environment) {
		chain_find_owner();
		chain_use_owner(c, &code, &at, &check);
	} else {
		check = chain_check_of(c, code);
	}
	chain_push_entry(c, code, at, check);
}

/*
 * A run has ended, with this anchor. Returns whether another one is to be taken: it is not the one
 * of the native frame, but of one above it that was not known as a call of the loop.
 */
static __always_inline bool chain_end_run(struct chain_scratch *c, __u64 anchor)
{
	if (c->rest)
		return true;
	if (anchor &&
	    anchor >= c->high) { /* of a frame below: this call has none yet, or no more */
		c->frame = c->run_frame;
		c->event.n_chain = (__u16)c->run_n;
		return false;
	}
	c->run_frame = c->frame;
	c->run_n = c->event.n_chain;
	return anchor && anchor < c->low;
}

static __always_inline __u64 chain_take_anchor(struct chain_scratch *c)
{
	__u64 anchor = c->anchor;

	if (anchor && (c->rest || anchor < c->high))
		c->anchor = chain_word_at(anchor + c->layout.frames.anchor_next);
	return anchor;
}

/* Reads the object that has all further words, but for checks: see struct chain_frames. */
static __always_inline void chain_read_object_of(const struct chain_scratch *c)
{
	const struct chain_frames *f = &c->layout.frames;

	if (f->owner.environment)
		chain_read_environment(c, chain_word_of(c, f->owner.environment));
	else if (f->check_more || f->end_code)
		chain_read_object(chain_word_of(c, f->code) & ~7ULL, 0, f->check_more);
	else if (f->end_at != CHAIN_END_HERE)
		chain_read_object(chain_word_of(c, f->end), f->end_at, f->end_at);
}

/* Takes the frame in c->frame, if it is one. Returns whether to go on. */
static __always_inline bool chain_take(struct chain_scratch *c)
{
	const struct chain_frames *f = &c->layout.frames;
	__u64 frame = c->frame;
	bool matches;

	c->frame = 0;
	if (!frame)
		return false;
	if (++c->n_taken > CHAIN_TAKES) {
		c->cut = true;
		return false;
	}
	if (!chain_read_frame(c, frame)) {
		c->broken = true;
		return false;
	}
	chain_see_frame(c, frame);
	chain_read_object_of(c);
	if (f->stop_mask && (chain_end_word(c) & f->stop_mask) >= f->stop_value)
		return false;
	if (f->next_is == CHAIN_NEXT_STRIDE)
		c->frame = frame + (__s64)f->next;
	else
		c->frame = chain_word_of(c, (__u16)f->next);
	matches = f->end_is != CHAIN_END_EACH && chain_matches(c);
	if (f->end_is == CHAIN_END_BETWEEN && matches)
		return chain_end_run(c, frame);
	chain_push(c);
	if (f->end_is != CHAIN_END_EACH && !matches)
		return true;
	return chain_end_run(c, chain_take_anchor(c));
}

/* ---- frames in stacks ---- */

/* The code object, or what has its name: see struct chain_stacks. */
static __always_inline __u64 chain_name_of(const struct chain_scratch *c, __u64 code)
{
	const struct chain_stacks *s = &c->layout.stacks;
	__u64 body = chain_word_at(code + s->body), name;

	chain_read_object(body, s->name, s->flags);
	if (chain_object_half(c, body + s->flags) & s->named)
		return code;
	name = chain_object_word(c, body + s->name) & ~7ULL;
	return name ? name : code;
}

static __always_inline void chain_push_element(struct chain_scratch *c, __u64 code)
{
	const struct chain_stacks *s = &c->layout.stacks;
	__u32 of_code = 0, of_at;

	chain_read_object(c->at, s->at_check, s->at_check_more);
	of_at = chain_check_place(chain_object_word(c, c->at + s->at_check),
				  chain_object_word(c, c->at + s->at_check_more));
	if (code >= CHAIN_CODES)
		of_code = chain_check(chain_word_at(code + c->layout.frames.check));
	chain_add_entry(code, c->at, chain_check_both(of_code, of_at));
}

static __always_inline void chain_enter_stack(struct chain_scratch *c, __u64 stack)
{
	const struct chain_stacks *s = &c->layout.stacks;
	__s32 last = (__s32)chain_word_at(stack + s->last);

	c->stack = stack;
	c->first = chain_word_at(stack + s->elements);
	c->frame = c->first - (__s64)last * c->layout.frames.next;
}

/* All elements of a stack were taken. Returns whether to go on. */
static __always_inline bool chain_leave_stack(struct chain_scratch *c)
{
	bool has_run = c->event.n_chain != c->run_n;
	__u64 below = chain_word_at(c->stack + c->layout.stacks.below);

	if (below) {
		c->ends = false;
		chain_enter_stack(c, below);
		return !has_run || chain_end_run(c, 0);
	}
	if (c->ends) { /* the last frame belongs to the next run */
		c->ends = false;
		return chain_end_run(c, 0);
	}
	c->frame = 0;
	chain_push_element(c, 0);
	return false;
}

/* Takes the element at c->frame, which was read. Returns whether to go on. */
static __always_inline bool chain_take_element(struct chain_scratch *c)
{
	const struct chain_frames *f = &c->layout.frames;
	const struct chain_stacks *s = &c->layout.stacks;
	__u64 byte = chain_word_of(c, f->from) & 0xff, code = chain_word_of(c, f->code) & ~7ULL;
	bool ends = !chain_word_of(c, f->end), ended = c->ends;
	bool is_frame = s->frames >> (byte & 15) & 1;

	if (ends &&
	    ((byte & s->hidden_mask) == s->hidden || (byte & s->hidden_mask_too) == s->hidden_too))
		is_frame = false;
	if (is_frame) {
		c->ends = false;
		if (ended && byte != s->joined && (byte & s->joined_mask) != s->joined_too)
			return chain_end_run(c, 0);
		c->ends = ends;
		c->frame += (__u64)(__s64)f->next;
		if (s->coded >> (byte & 15) & 1)
			code = chain_name_of(c, code);
		else
			code = chain_code_of_kind((__u8)byte, chain_word_of(c, s->mark));
		chain_push_element(c, code);
		c->at = chain_word_of(c, f->at);
		return c->frame != 0;
	}
	c->frame += (__u64)(__s64)f->next;
	return true;
}

int chain_element_step(void);

/* Takes the element in c->frame. Returns whether to go on. A global function. */
__noinline int chain_element_step(void)
{
	struct chain_scratch *c = get_chain_scratch();

	if (!c || !c->frame)
		return 0;
	if (++c->n_taken > CHAIN_TAKES) {
		c->cut = true;
		c->frame = 0;
		return 0;
	}
	if ((__s64)(c->frame - c->first) < 0)
		return chain_leave_stack(c);
	if (!chain_read_frame(c, c->frame)) {
		c->broken = true;
		c->frame = 0;
		return 0;
	}
	return chain_take_element(c);
}

/* ---- runs ---- */

int chain_step(void);

/* Returns whether there is more to take. A global function, like walk_frame(). */
__noinline int chain_step(void)
{
	struct chain_scratch *c = get_chain_scratch();

	if (!c)
		return 0;
	switch (c->layout.frames.next_is) {
	case CHAIN_NEXT_ELEMENT:
		return chain_element_step();
	case CHAIN_NEXT_CALL:
		return chain_call_step();
	case CHAIN_NEXT_SLOT:
		return chain_slot_step();
	case CHAIN_NEXT_SCAN:
		return chain_scan_step();
	default:
		return c->task ? chain_task_step(c) : chain_take(c);
	}
}

int chain_run(__u32 index);

/*
 * Takes the run that the native frame with this index executes, whose stack is from c->low to
 * c->high. A global function likewise.
 */
__noinline int chain_run(__u32 index)
{
	struct chain_scratch *c = get_chain_scratch();

	if (!c || !c->frame)
		return 0;
	c->index = index;
	c->ends = false;
	c->rest = index == CHAIN_REST || c->leaving;
	c->n_compiled = c->event.n_chain;
	c->run_frame = c->frame;
	c->run_n = c->event.n_chain;
#pragma clang loop unroll(disable)
	for (int i = 0; i < CHAIN_TAKES; i++) {
		if (!chain_step())
			break;
	}
	return 0;
}

/* ---- the loop ---- */

enum chain_native { CHAIN_NATIVE_NOT, CHAIN_NATIVE_LOOP, CHAIN_NATIVE_GENERATED };

int chain_native_at(__u64 address); /* in v8_walk.bpf.h */

/* Whether an address is in the interpreter's loop. */
static __always_inline bool chain_has_loop_at(const struct chain_layout *l, struct scratch *s,
					      __u64 address)
{
	if (address - l->loop >= l->loop_bytes)
		return l->flags & CHAIN_ANONYMOUS_IS_LOOP && unwind_enter(s, address) &&
		       s->walk.mappings.table == UNWIND_TABLE_ANONYMOUS;
	return chain_has_file_at(l, address);
}

int chain_is_joined(__u64 address);

/* Whether a native frame in the loop and its caller at this address are one. A global function. */
__noinline int chain_is_joined(__u64 address)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();

	return c && s && c->layout.flags & CHAIN_LOOP_IS_JOINED &&
	       chain_has_loop_at(&c->layout, s, address);
}

/*
 * Goes to the state whose frames this call of the loop executes. What is left of another one has no
 * calls of the loop any more: it was suspended since, and the last call runs all of it.
 */
static __always_inline void chain_go_to_state(struct chain_scratch *c)
{
	__u64 state;

	chain_find_state();
	state = c->found;
	if (!state || state == c->state)
		return;
	c->leaving = true;
	chain_run(c->index);
	c->leaving = false;
	chain_enter_state(c, state);
}

int chain_take_run(__u64 low);

/*
 * The native walk has gone from a frame in the loop, whose stack pointer is given, to its caller,
 * or ended there. A global function.
 */
__noinline int chain_take_run(__u64 low)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();

	if (!c || !s)
		return 0;
	if (c->layout.frames.next_is == CHAIN_NEXT_CALL)
		chain_go_to_state(c);
	if (!c->frame) {
		c->n_left++;
		c->left = s->n_user;
		return 0;
	}
	c->low = low;
	c->high = s->walk.sp > low && !s->walk.sp_is_low ? s->walk.sp : ~0ULL;
	return chain_run(s->n_user - 1);
}

enum chain_loop {
	CHAIN_LOOP_NOT,
	CHAIN_LOOP,
	CHAIN_LOOP_IN_NATIVE,  /* of V8: v8_next() */
	CHAIN_LOOP_ON_PROCESS, /* on the stack of a process: chain_leave_process() */
};

int chain_loop_at(__u64 address);

/* CHAIN_BY_ADDRESS: takes the native frame that was added last. */
static __always_inline void chain_take_address(struct chain_scratch *c, const struct scratch *s,
					       __u64 address)
{
	__u64 code = address & ~7ULL;

	c->index = s->n_user - 1;
	chain_push_entry(c, code, address, chain_check(chain_word_at(code)));
}

/*
 * What the address, which the walk is at, is: an enum chain_loop. CHAIN_LOOP: the run is to be
 * taken when the walk has gone on; with CHAIN_NEXT_SLOT it is taken here. A global function.
 */
__noinline int chain_loop_at(__u64 address)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();

	if (!c || !s)
		return CHAIN_LOOP_NOT;
	if (c->layout.flags & CHAIN_IN_NATIVE)
		return chain_native_at(address) == CHAIN_NATIVE_NOT ? CHAIN_LOOP_NOT
								    : CHAIN_LOOP_IN_NATIVE;
	if (!chain_has_loop_at(&c->layout, s, address))
		return CHAIN_LOOP_NOT;
	if (c->layout.flags & CHAIN_BY_ADDRESS) {
		chain_take_address(c, s, address);
		return CHAIN_LOOP_NOT;
	}
	switch (c->layout.frames.next_is) {
	case CHAIN_NEXT_SLOT:
		chain_take_slots(c, s);
		return CHAIN_LOOP_NOT;
	case CHAIN_NEXT_SCAN: /* the loop calls no generated code; what it executes, C code does */
		return address - c->layout.loop < c->layout.loop_bytes ? CHAIN_LOOP
								       : CHAIN_LOOP_ON_PROCESS;
	default:
		return CHAIN_LOOP;
	}
}

/* Whether the first frame, if there is one, is this thread's. */
static __always_inline bool chain_is_of_thread(struct chain_scratch *c)
{
	if (c->layout.thread.origin == CHAIN_NONE)
		return true;
	chain_follow(CHAIN_THREAD_PATH);
	return c->thread_pointer - c->found < CHAIN_THREAD_BYTES;
}

/* In hotspot_walk.bpf.h. Returns whether the JVM has code. */
int jvm_start(void);

/* Where the loop may be: anywhere, if generated code is part of it. */
static __always_inline void chain_bound_loop(struct walk *w, const struct chain_layout *l)
{
	bool anywhere = l->flags & (CHAIN_ANONYMOUS_IS_LOOP | CHAIN_IN_NATIVE);

	w->loop = anywhere ? 0 : l->loop;
	w->loop_bytes = anywhere ? ~0ULL : l->loop_bytes;
}

int chain_start(void);

/*
 * Finds the layout of the process and the first frame of the thread. A global function. Returns
 * whether there is one, or may be.
 */
__noinline int chain_start(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();
	const char *b;
	__u64 at;

	if (!c || !s)
		return 0;
	c->event.n_chain = 0;
	c->event.chain_state = 0;
	c->frame = 0;
	c->state = 0;
	c->n_states = 0;
	c->n_rest = 0;
	c->anchor = 0;
	c->n_taken = 0;
	c->n_left = 0;
	c->n_fresh = 0;
	c->running = 0;
	c->task = 0;
	c->tgid = s->event.header.tgid;
	chain_memory_begin(c);
	c->cut = c->fresh = c->broken = c->leaving = false;
	b = (const char *)unwind_block_at(s->walk.mappings.chain.block);
	at = (__u64)s->walk.mappings.chain.first * UNWIND_CHAIN_UNIT;
	if (!b || at > UNWIND_BLOCK_BYTES - sizeof(c->layout))
		return 0;
	c->layout = *(const struct chain_layout *)(const void *)(b + at);
	chain_bound_loop(&s->walk, &c->layout);
	if (c->layout.flags & CHAIN_IS_JVM)
		return jvm_start();
	if (c->layout.flags & CHAIN_IN_NATIVE) {
		c->loop_table = UNWIND_TABLE_NONE;
		if (unwind_enter(s, c->layout.loop))
			c->loop_table = s->walk.mappings.table;
		return true;
	}
	if (c->layout.flags & CHAIN_BY_ADDRESS)
		return true;
	chain_follow(0);
	if (c->layout.frames.next_is == CHAIN_NEXT_SCAN)
		return chain_enter_process(c);
	if (!c->found)
		chain_follow(1);
	c->frame = c->found;
	if (!chain_is_of_thread(c))
		c->frame = 0;
	if (c->frame && c->layout.frames.next_is == CHAIN_NEXT_ELEMENT) {
		chain_enter_stack(c, c->frame);
		chain_follow(CHAIN_FIRST_AT);
		c->at = c->found;
	} else if (c->layout.flags & CHAIN_HAS_TASKS) {
		chain_follow(CHAIN_FIRST_AT);
		chain_find_task();
	}
	return c->frame != 0 || c->layout.frames.next_is == CHAIN_NEXT_CALL ||
	       c->layout.frames.next_is == CHAIN_NEXT_SLOT;
}

static __always_inline __u32 chain_read_state(struct chain_scratch *c, enum chain_state_kind kind)
{
	const struct chain_path *p = &c->layout.states[kind];

	if (p->origin == CHAIN_NONE)
		return CHAIN_STATE_UNKNOWN;
	chain_follow(CHAIN_PATHS + kind);
	return (c->found << (p->shift & 63) ? CHAIN_STATE_SET : CHAIN_STATE_CLEAR) << 2 * kind;
}

/* Whether it is known which native frame a run belongs to. */
static __always_inline bool chain_has_anchors(const struct chain_layout *l)
{
	return l->frames.end_is == CHAIN_END_BETWEEN || l->paths[0].anchor != 0;
}

static __always_inline __u32 chain_state_of_calls(const struct chain_scratch *c)
{
	struct scratch *s = get_scratch();
	bool whole = s && s->end == WALK_END_BOTTOM && !c->cut && !c->broken;

	if (whole && c->n_rest == 1 && c->n_states == 1 && c->n_left == 0)
		return CHAIN_CALLERS_NAME | CHAIN_NOT_BEGUN;
	return CHAIN_CALLERS_NAME;
}

int chain_finish(void);

/*
 * After the native walk: takes the frames that are left, and reads what is to be known of the
 * thread. A global function.
 */
__noinline int chain_finish(void)
{
	struct chain_scratch *c = get_chain_scratch();

	if (!c || c->layout.frames.next_is == CHAIN_NEXT_SCAN)
		return 0;
	if (c->layout.frames.next_is != CHAIN_NEXT_STRIDE || c->layout.frames.stop_mask)
		chain_run(CHAIN_REST);
	c->event.chain_state = chain_read_state(c, CHAIN_COLLECTS);
	c->event.chain_state |= chain_read_state(c, CHAIN_HOLDS_LOCK);
	if (c->layout.frames.next_is == CHAIN_NEXT_CALL)
		c->event.chain_state |= chain_state_of_calls(c);
	else if (c->layout.frames.next_is == CHAIN_NEXT_SLOT)
		c->event.chain_state |= CHAIN_CALLERS_NAME;
	if (c->n_left == 1 && c->n_states < 2 && !chain_has_anchors(&c->layout) && !c->cut &&
	    !c->broken)
		c->event.chain_state |= c->left << CHAIN_LEFT_SHIFT;
	return 0;
}

/* ---- code objects ---- */

#define CODE_PAGE_BYTES 4096 /* the smallest page that there is */

/* Less than a whole piece if the next page cannot be read. */
static __always_inline void chain_keep_piece(struct code_event *e, __u32 i, __u64 at)
{
	__u64 bytes = sizeof(e->words[i]);

	e->at[i] = at;
	e->n_bytes[i] = 0;
	if (!at)
		return;
	if (bpf_probe_read_user(e->words[i], bytes, (void *)at)) {
		bytes = CODE_PAGE_BYTES - at % CODE_PAGE_BYTES;
		if (bytes >= sizeof(e->words[i]) ||
		    bpf_probe_read_user(e->words[i], bytes, (void *)at))
			return;
	}
	e->n_bytes[i] = (__u16)bytes;
}

/* Where a text of the code object in e lies; 0: there is none. */
static __always_inline __u64 chain_text_at(const struct code_event *e, __u32 offset)
{
	if (offset == CHAIN_TEXT_AT)
		return chain_entry_at(&e->entry);
	if (offset == 0 || offset + sizeof(__u64) > e->n_bytes[0])
		return 0;
	return e->words[0][unwind_masked(offset / 8, CODE_PIECE_WORDS)];
}

int chain_keep(__u32 number);

/*
 * Fills c->code, but for its header, with one of the c->n_fresh code objects. Returns whether it
 * could be read. A global function.
 */
__noinline int chain_keep(__u32 number)
{
	struct chain_scratch *c = get_chain_scratch();
	struct code_event *e;

	if (!c || number >= CHAIN_FRESH)
		return 0;
	e = &c->code;
	e->entry = c->fresh_entries[unwind_masked(number, CHAIN_FRESH)];
	chain_keep_piece(e, 0, chain_entry_code(&e->entry));
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < CHAIN_TEXTS; i++)
		chain_keep_piece(e, i + 1, chain_text_at(e, c->layout.texts[i]));
	return e->n_bytes[0] > 0;
}

#endif /* BPF_CHAIN_WALK_BPF_H */
