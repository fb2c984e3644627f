/* Erlang/OTP 25 and 27 with its compiler (JIT) on x86-64; so Elixir, too. */
#ifndef NODE_AGENT_INTERPRETER_ERLANG_INTERPRETER_H
#define NODE_AGENT_INTERPRETER_ERLANG_INTERPRETER_H

#include "node-agent/interpreter/interpreter_ops.h"

extern const struct interpreter_ops erlang_interpreter_ops;

#endif /* NODE_AGENT_INTERPRETER_ERLANG_INTERPRETER_H */
