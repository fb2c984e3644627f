/* LuaJIT 2.1 with values of 64 bits: luajit, libluajit, and programs that it is linked into. */
#ifndef NODE_AGENT_INTERPRETER_LUA_LUAJIT_INTERPRETER_H
#define NODE_AGENT_INTERPRETER_LUA_LUAJIT_INTERPRETER_H

#include "node-agent/interpreter/interpreter_ops.h"

extern const struct interpreter_ops luajit_interpreter_ops;

#endif /* NODE_AGENT_INTERPRETER_LUA_LUAJIT_INTERPRETER_H */
