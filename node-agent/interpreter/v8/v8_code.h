/*
 * Generated code of V8: which function an address is in, and those that were inlined there. Pure
 * but for what it reads of the process.
 */
#ifndef NODE_AGENT_INTERPRETER_V8_CODE_H
#define NODE_AGENT_INTERPRETER_V8_CODE_H

#include "node-agent/interpreter/v8/v8_heap.h"

#define V8_CODE_MAX (512u << 10) /* bytes of a function; those of longer ones are not found */
#define V8_INLINED_MAX 16u       /* functions that are inlined at a place */

enum v8_code_kind { V8_CODE_OTHER, V8_CODE_REGEXP, V8_CODE_BASELINE, V8_CODE_OPTIMISED };

struct v8_code {
	enum v8_code_kind kind;
	uint64_t start;     /* address of the first instruction */
	uint32_t size;      /* bytes of instructions */
	uint64_t data;      /* object: deoptimization data, or the bytecode */
	uint64_t positions; /* object: a byte array */
};

/* Finds the code that has an address. Returns 0, or -ENOENT if there is none. */
int v8_code_find(struct v8_heap *h, uint64_t pc, struct v8_code *ret) MUST_CHECK;

/* What is executed at a place, and what it is inlined in. */
struct v8_place {
	uint64_t sfi;       /* object; 0: that whose code it is */
	int64_t position;   /* in its script; below 0: not known */
	uint32_t n_callers; /* it is inlined in so many others */
};

/* Of optimised code: the function with this number, 0 is the innermost one. */
int v8_code_place(struct v8_heap *h, const struct v8_code *code, uint64_t pc, uint32_t level,
		  struct v8_place *ret) MUST_CHECK;

/* The bytecode of a function, and of code that was made of it without optimising; 0: none. */
uint64_t v8_bytecode_of(struct v8_heap *h, uint64_t data);

/* Where in the script an offset in bytecode is; below 0: not known. */
int64_t v8_bytecode_position(struct v8_heap *h, uint64_t bytecode, uint32_t offset);

/* The offset in bytecode of an address in baseline code; bias: interpreter_ops.name_frame(). */
int64_t v8_baseline_offset(struct v8_heap *h, uint64_t bias, const struct v8_code *code,
			   uint64_t bytecode, uint64_t pc);

#endif /* NODE_AGENT_INTERPRETER_V8_CODE_H */
