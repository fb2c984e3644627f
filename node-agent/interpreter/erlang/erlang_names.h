/* The function, file and line of an address in code of Erlang. Pure but for what it reads. */
#ifndef NODE_AGENT_INTERPRETER_ERLANG_NAMES_H
#define NODE_AGENT_INTERPRETER_ERLANG_NAMES_H

#include "node-agent/interpreter/erlang_layout.h"
#include "node-agent/interpreter/interpreter_frame.h"

/*
 * "module:function/arity", as the code has them: of a fun it is "module:-function/arity-fun-0-/1",
 * of a module of Elixir "Elixir.Module:function/arity". bias is what is to be added to addresses of
 * the layout. Results as of interpreter_ops.name_frame(): -ENODATA if the address belongs to no
 * function, but to code that many share.
 */
int erlang_name_read(const struct erlang_layout *layout, uint64_t bias,
		     const struct interpreter_memory *memory, const struct interpreter_frame *frame,
		     struct interpreter_name *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_ERLANG_NAMES_H */
