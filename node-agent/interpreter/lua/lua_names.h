/*
 * Names of functions of Lua: as tracebacks of Lua have them, from the instruction of the caller
 * that calls them; else "function <file:line>". Code outside functions has the name of its file.
 * Pure.
 *
 * A field of a global variable is named with it, as functions of libraries are: "table.sort".
 */
#ifndef NODE_AGENT_INTERPRETER_LUA_LUA_NAMES_H
#define NODE_AGENT_INTERPRETER_LUA_LUA_NAMES_H

#include "common/base.h"
#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/lua_layout.h"

/*
 * Returns 0; -ENODATA for a C function that has no name; -ESTALE if another code object is there;
 * -EBADMSG if it is none; or an error of interpreter_read().
 */
int lua_name_read(const struct lua_layout *layout, const struct interpreter_memory *memory,
		  const struct interpreter_frame *frame, struct interpreter_name *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_LUA_LUA_NAMES_H */
