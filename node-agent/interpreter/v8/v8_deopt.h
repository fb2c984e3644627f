/*
 * Where calls are in optimised code that has no table of positions. Pure but for what it reads of
 * the process.
 */
#ifndef NODE_AGENT_INTERPRETER_V8_DEOPT_H
#define NODE_AGENT_INTERPRETER_V8_DEOPT_H

#include "node-agent/interpreter/v8/v8_code.h"

/* A function at a call: itself, or one that is inlined there. */
struct v8_deopt_frame {
	int32_t literal; /* index of its SharedFunctionInfo among the literals */
	int32_t offset;  /* in its bytecode */
};

/*
 * Sets the functions of the call whose return address is pc + 1, the outermost one first. Returns
 * how many there are, or 0: it is no call, or the release is not known.
 */
unsigned v8_deopt_find(struct v8_heap *h, const struct v8_code *code, uint64_t pc,
		       struct v8_deopt_frame ret[V8_INLINED_MAX + 1]);

#endif /* NODE_AGENT_INTERPRETER_V8_DEOPT_H */
