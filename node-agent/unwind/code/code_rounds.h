/*
 * The states of all instructions of a piece of code, in rounds: each knows what the one before has
 * learned about calls that do not return and about where functions begin. Pure.
 */
#ifndef NODE_AGENT_UNWIND_CODE_CODE_ROUNDS_H
#define NODE_AGENT_UNWIND_CODE_CODE_ROUNDS_H

#include "node-agent/unwind/code/code_flow.h"

/*
 * Finds the states. end is where a function begins that has no caller, UINT32_MAX if there is
 * none. Returns 0 or -ENOMEM.
 */
int code_rounds_run(struct code_flow *f, uint32_t end) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CODE_CODE_ROUNDS_H */
