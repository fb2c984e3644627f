/*
 * CPython, as a language whose frames are walked and named (interpreter_ops.h).
 */
#ifndef NODE_AGENT_INTERPRETER_PYTHON_PYTHON_INTERPRETER_H
#define NODE_AGENT_INTERPRETER_PYTHON_PYTHON_INTERPRETER_H

#include "node-agent/interpreter/interpreter_ops.h"

extern const struct interpreter_ops python_interpreter_ops;

#endif /* NODE_AGENT_INTERPRETER_PYTHON_PYTHON_INTERPRETER_H */
