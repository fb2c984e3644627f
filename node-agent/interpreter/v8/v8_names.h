/* The function, script and line of a frame of V8. Pure but for what it reads of the process. */
#ifndef NODE_AGENT_INTERPRETER_V8_NAMES_H
#define NODE_AGENT_INTERPRETER_V8_NAMES_H

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/v8_layout.h"

#define V8_READ_BYTES_MAX (16u << 20) /* for one name, and a source whose lines are counted */

/*
 * "Class.method" where V8 has inferred that, else the function's name; "(anonymous)" has none. Code
 * of a regular expression is "(regular expression)". Results as of interpreter_ops.name_frame().
 */
int v8_name_read(const struct v8_layout *layout, uint64_t bias,
		 const struct interpreter_memory *memory, const struct interpreter_frame *f,
		 struct interpreter_name *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_V8_NAMES_H */
