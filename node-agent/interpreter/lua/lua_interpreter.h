/* PUC-Rio's Lua 5.1 to 5.5: lua, liblua, and programs that it is linked into. x86-64. */
#ifndef NODE_AGENT_INTERPRETER_LUA_LUA_INTERPRETER_H
#define NODE_AGENT_INTERPRETER_LUA_LUA_INTERPRETER_H

#include "node-agent/interpreter/interpreter_ops.h"

extern const struct interpreter_ops lua_interpreter_ops;

#endif /* NODE_AGENT_INTERPRETER_LUA_LUA_INTERPRETER_H */
