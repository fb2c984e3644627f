/*
 * The different states of a piece of code, numbered: instructions share most of them. Pure.
 */
#ifndef NODE_AGENT_UNWIND_CODE_CODE_STATES_H
#define NODE_AGENT_UNWIND_CODE_CODE_STATES_H

#include "common/base.h"
#include "node-agent/unwind/code/code_state.h"

#define CODE_STATES_MAX 8192u

/* Numbers that are always there. */
enum {
	CODE_UNREACHED, /* no state: nothing leads there */
	CODE_UNKNOWN,   /* code_state_strange */
	CODE_ENTRY,     /* code_state_entry */
	CODE_END,       /* code_state_outermost */
	CODE_HANDLED,   /* code_state_signal */
	CODE_STATES_FIXED,
};

struct code_states {
	uint32_t n;
	struct code_state states[CODE_STATES_MAX];
	uint16_t bucket_of[CODE_STATES_MAX];
	uint16_t buckets[2 * CODE_STATES_MAX]; /* numbers of states; 0: free */
};

/* Forgets all others. */
void code_states_reset(struct code_states *d);

/* The number of this state; CODE_UNKNOWN if there are too many. */
uint16_t code_states_number(struct code_states *d, const struct code_state *s);

#endif /* NODE_AGENT_UNWIND_CODE_CODE_STATES_H */
