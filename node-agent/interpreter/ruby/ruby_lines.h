/* Which line of its file an instruction of Ruby belongs to. Pure but for what it reads. */
#ifndef NODE_AGENT_INTERPRETER_RUBY_LINES_H
#define NODE_AGENT_INTERPRETER_RUBY_LINES_H

#include "node-agent/interpreter/ruby/ruby_object.h"

/*
 * The line of the instruction at this index, in words, of the code whose rb_iseq_constant_body is
 * at an address. 0 if there is none. Results of interpreter_read(), or -EBADMSG.
 */
int ruby_line_read(const struct ruby_memory *m, uint64_t body, uint32_t index,
		   uint32_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_RUBY_LINES_H */
