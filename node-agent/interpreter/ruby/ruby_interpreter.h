/* Ruby 2.7 to 4.0: its virtual machine, in whatever program or library it is built into. */
#ifndef NODE_AGENT_INTERPRETER_RUBY_INTERPRETER_H
#define NODE_AGENT_INTERPRETER_RUBY_INTERPRETER_H

#include "node-agent/interpreter/interpreter_ops.h"

extern const struct interpreter_ops ruby_interpreter_ops;

#endif /* NODE_AGENT_INTERPRETER_RUBY_INTERPRETER_H */
