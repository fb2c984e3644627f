/*
 * What control flow alone does not say: which calls return, which functions never do
 * (code_never.c), and what the code is that nothing leads to. Pure.
 */
#ifndef NODE_AGENT_UNWIND_CODE_CODE_GUESS_H
#define NODE_AGENT_UNWIND_CODE_CODE_GUESS_H

#include "node-agent/unwind/code/code_flow.h"

/* Whether nearly all functions that are known begin at aligned addresses. */
bool code_guess_is_aligned(const struct code_flow *f);

/* Whether a call that ends before `next` is likely to return there, in this state. */
bool code_guess_returns(struct code_flow *f, uint32_t next, uint16_t number);

/* Gives a state to code that is not reached, where that fits. */
void code_guess(struct code_flow *f);

/*
 * Where code is compiled with frame pointers, gives a state to calls that have none
 * (code_frames.c). Nothing is to be followed afterwards.
 */
void code_guess_frames(struct code_flow *f);

/* Marks functions that never return. Returns whether there are new ones. */
bool code_never_find(struct code_flow *f);

#endif /* NODE_AGENT_UNWIND_CODE_CODE_GUESS_H */
