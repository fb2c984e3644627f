/*
 * What a thread does for its interpreter and not for the program: it collects garbage, or waits for
 * the lock that only one thread of an interpreter has at a time (CPython: the GIL). Told from the
 * native frames between a run of the interpreter's frames and what they have called, and from words
 * of the interpreter (enum chain_state_kind in bpf/frame_chain.h). Pure.
 *
 * The words alone prove neither: a collection may have called a finalizer that lets other threads
 * run, and a thread without the lock mostly computes in code that does not need it.
 */
#ifndef NODE_AGENT_PROFILE_THREAD_STATE_H
#define NODE_AGENT_PROFILE_THREAD_STATE_H

#include <linux/types.h>

#include "common/base.h"

#include "bpf/frame_chain.h"

enum thread_activity {
	THREAD_RUNS, /* or what it does is not known */
	THREAD_COLLECTS,
	THREAD_WAITS,
	/* It collects unless a function of the program does, which the collection has called. */
	THREAD_COLLECTS_IF_NO_FINALIZER,
};

/* While a stack is followed from the leaf on. */
struct thread_state {
	uint32_t states; /* chain_state_of() */
	bool had_run;
	/* of the native frames since the last run */
	bool in_collector;
	bool in_acquire;
	bool after_wait;
	bool nameless; /* the last one without a name is the interpreter's */
};

static inline void thread_state_begin(struct thread_state *t, uint32_t states)
{
	*t = (struct thread_state){.states = states};
}

/* The next native frame. is_interpreter: its file has the interpreter. */
void thread_state_see(struct thread_state *t, const char *function, bool is_interpreter);

/* A run of the interpreter's frames is next: what is between it and the last one. */
enum thread_activity thread_state_take(struct thread_state *t);

#endif /* NODE_AGENT_PROFILE_THREAD_STATE_H */
