/*
 * The function, file and line of a frame of Ruby. Pure but for what it reads of the process.
 *
 * A frame is its code and, behind struct chain_owner, the method that owns it; or only the method,
 * if that is a C function.
 */
#ifndef NODE_AGENT_INTERPRETER_RUBY_NAMES_H
#define NODE_AGENT_INTERPRETER_RUBY_NAMES_H

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/ruby_layout.h"

/*
 * "Class#method", "Class.method", "block in Class#method", "<main>", as Ruby itself names them; C
 * functions have no file. bias and results as of interpreter_ops.name_frame().
 */
int ruby_name_read(const struct ruby_layout *layout, uint64_t bias,
		   const struct interpreter_memory *memory, const struct interpreter_frame *f,
		   struct interpreter_name *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_RUBY_NAMES_H */
