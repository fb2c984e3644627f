/* Code objects of LuaJIT (GCproto), as lua_code.h has those of Lua. Pure. */
#ifndef NODE_AGENT_INTERPRETER_LUA_LUAJIT_CODE_H
#define NODE_AGENT_INTERPRETER_LUA_LUAJIT_CODE_H

#include "node-agent/interpreter/lua/lua_code.h"

/* Offsets in a code object. */
#define LUAJIT_SOURCE 64u
#define LUAJIT_FIRST_LINE 72u /* followed by how many lines there are */

extern const struct lua_dialect luajit_dialect;

#endif /* NODE_AGENT_INTERPRETER_LUA_LUAJIT_CODE_H */
