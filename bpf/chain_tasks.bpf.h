/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Frames of the coroutines that wait for the one that runs, as struct chain_tasks says.
 *
 * An event loop calls each task anew, so what waits for a task is not on the stack. It is read here
 * and not when names are: by then the task may have ended, and its memory may be that of another
 * one. Now the thread that owns all of these tasks stands still, so they are as they were at the
 * tick. That the task is the one that runs, its own frame proves, which the walk has come by.
 *
 * A task knows what it runs from the outermost coroutine on. So the frames of a task are added in
 * that order, and then turned round. Each step of it is a step of the loop that takes all other
 * frames: so the verifier has to follow it once.
 */
#ifndef BPF_CHAIN_TASKS_BPF_H
#define BPF_CHAIN_TASKS_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "chain_memory.bpf.h"
#include "chain_state.bpf.h"
#include "frame_chain.h"
#include "walk_state.bpf.h"

#define CHAIN_TASK_STEPS 512 /* in all; a hostile process has tasks that wait for each other */

/* A byte of the object that was read. */
static __always_inline __u8 chain_object_byte(const struct chain_scratch *c, __u64 at)
{
	return (__u8)(chain_object_word(c, at & ~7ULL) >> (at & 7) * 8);
}

/* No more tasks, and this in place of the next one. */
static __always_inline void chain_leave_tasks(struct chain_scratch *c, enum chain_at_task why)
{
	c->task = 0;
	chain_add_entry(CHAIN_TASKS_CODE, why, 0);
}

int chain_find_task(void);

/* What was found is the task that runs. A global function. */
__noinline int chain_find_task(void)
{
	struct chain_scratch *c = get_chain_scratch();

	if (!c)
		return 0;
	c->running = c->found;
	c->running_frame =
		chain_word_at(c->found + c->layout.tasks.coroutine) + c->layout.tasks.frame;
	c->task_read = 0;
	c->n_task_steps = 0;
	return 0;
}

/* If the frame is that of the task that runs, its tasks are next. Without a branch. */
static __always_inline void chain_see_frame(struct chain_scratch *c, __u64 frame)
{
	__u64 other = frame ^ c->running_frame;

	barrier_var(other);
	c->task = c->running & (0 - ((other - 1) >> 63));
}

int chain_read_task(void);

/*
 * Reads the task, or future, which has no coroutine and no name. A global function, as all steps
 * are: in one function they would need more stack than is left here.
 */
__noinline int chain_read_task(void)
{
	struct chain_scratch *c = get_chain_scratch();
	const struct chain_tasks *t;
	__u64 task, is_task;

	if (!c)
		return 0;
	t = &c->layout.tasks;
	task = c->task;
	c->task_read = task;
	if (!chain_read_object(task, t->awaited_by, t->name)) {
		chain_leave_tasks(c, CHAIN_AT_TASKS_UNREADABLE);
		return 0;
	}
	is_task = chain_object_byte(c, task + t->is_task) ? ~0ULL : 0;
	c->awaited_by = chain_object_word(c, task + t->awaited_by);
	c->awaited_by_set = chain_object_byte(c, task + t->is_set);
	c->task_name = chain_object_word(c, task + t->name) & is_task;
	if (task == c->running) /* its frames are there */
		is_task = 0;
	c->coroutine = chain_object_word(c, task + t->coroutine) & is_task;
	c->turn_from = c->turn_to = c->event.n_chain;
	return 0;
}

int chain_take_suspended(void);

/* Takes the frame of the coroutine, and goes on to the one that it awaits. */
__noinline int chain_take_suspended(void)
{
	struct chain_scratch *c = get_chain_scratch();
	const struct chain_tasks *t;
	__u64 coroutine, code, top;
	__u8 state;

	if (!c)
		return 0;
	t = &c->layout.tasks;
	coroutine = c->coroutine;
	c->coroutine = 0;
	if (!chain_read_object(coroutine, t->type, t->state & ~7))
		return 0;
	state = chain_object_byte(c, coroutine + t->state);
	/* suspended, by another coroutine or not */
	if (chain_object_word(c, coroutine + t->type) != t->coroutine_type ||
	    (__u8)(t->awaits_state - state) > 1 || !chain_read_frame(c, coroutine + t->frame))
		return 0;
	code = chain_word_of(c, c->layout.frames.code) & ~7ULL;
	top = chain_word_of(c, t->top);
	chain_add_entry(code, chain_word_of(c, c->layout.frames.at),
			chain_check(chain_word_at(code + c->layout.frames.check)));
	if (state == t->awaits_state)
		c->coroutine = chain_word_at(top - t->awaits) & ~7ULL;
	c->turn_to = c->event.n_chain;
	return 0;
}

int chain_push_task_name(void);

/* Adds the name that the program has given to the task. */
__noinline int chain_push_task_name(void)
{
	struct chain_scratch *c = get_chain_scratch();
	const struct chain_tasks *t;
	__u64 name;

	if (!c)
		return 0;
	t = &c->layout.tasks;
	name = c->task_name;
	c->task_name = 0;
	chain_read_object(name, t->type, t->text);
	if (chain_object_word(c, name + t->type) == t->text_type)
		chain_add_entry(name, CHAIN_AT_TASK_NAME,
				chain_check_text(chain_object_word(c, name + t->text_bytes),
						 chain_object_word(c, name + t->text)));
	return 0;
}

/* What is the only element of a set; 0: it has several. */
static __always_inline __u64 chain_only_of_set(struct chain_scratch *c, __u64 set)
{
	const struct chain_tasks *t = &c->layout.tasks;
	__u64 found = 0;

	chain_read_object(set, t->set_used, t->set_table);
	if (chain_object_word(c, set + t->set_used) != 1 ||
	    chain_object_word(c, set + t->set_mask) != CHAIN_SET_SLOTS - 1)
		return 0;
	set = chain_object_word(c, set + t->set_table);
	if (!chain_read_object(set, 0, (CHAIN_SET_SLOTS * 2 - 1) * 8))
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < CHAIN_SET_SLOTS; i++) {
		__u64 key = chain_object_word(c, set + i * 16);
		/* -1: the element was removed */
		__u64 is_removed = !~chain_object_word(c, set + i * 16 + 8);

		barrier_var(is_removed); /* keeps clang from making it a branch */
		found |= key & (is_removed - 1);
	}
	return found;
}

int chain_leave_task(void);

/* The frames of a task are there. Goes on to what awaits it. */
__noinline int chain_leave_task(void)
{
	struct chain_scratch *c = get_chain_scratch();
	__u64 next;

	if (!c)
		return 0;
	next = c->awaited_by;
	if (next && c->awaited_by_set) {
		next = chain_only_of_set(c, next);
		if (!next) {
			chain_leave_tasks(c, CHAIN_AT_TASKS_SEVERAL);
			return 0;
		}
	}
	c->task = next;
	return 0;
}

int chain_turn(void);

/* Turns the frames of a task round, a pair at a time. Returns false if that is done. */
__noinline int chain_turn(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct chain_entry *one, *other, was;
	__u32 from, to;

	if (!c)
		return false;
	from = c->turn_from;
	to = c->turn_to;
	if (from + 1 >= to)
		return false;
	one = &c->entries[unwind_masked(from, CHAIN_ENTRIES)];
	other = &c->entries[unwind_masked(to - 1, CHAIN_ENTRIES)];
	was = *one;
	*one = *other;
	*other = was;
	c->turn_from = from + 1;
	c->turn_to = to - 1;
	return true;
}

/* A step of what begins with c->task, until that is 0. */
static __always_inline int chain_task_step(struct chain_scratch *c)
{
	if (++c->n_task_steps > CHAIN_TASK_STEPS)
		chain_leave_tasks(c, CHAIN_AT_TASKS_MANY);
	else if (c->task_read != c->task)
		chain_read_task();
	else if (c->coroutine)
		chain_take_suspended();
	else if (!chain_turn()) {
		if (c->task_name)
			chain_push_task_name();
		chain_leave_task();
	}
	return 1;
}

#endif /* BPF_CHAIN_TASKS_BPF_H */
