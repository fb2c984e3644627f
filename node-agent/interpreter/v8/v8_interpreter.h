/* V8 8.4 and newer (Node.js 14 to 26), in whatever program or library it is built into. */
#ifndef NODE_AGENT_INTERPRETER_V8_INTERPRETER_H
#define NODE_AGENT_INTERPRETER_V8_INTERPRETER_H

#include "node-agent/interpreter/interpreter_ops.h"

extern const struct interpreter_ops v8_interpreter_ops;

#endif /* NODE_AGENT_INTERPRETER_V8_INTERPRETER_H */
