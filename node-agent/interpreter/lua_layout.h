/*
 * What differs between releases of Lua in where the names and lines of functions are read from.
 * Offsets are in bytes. The same for all processes that map a file.
 */
#ifndef NODE_AGENT_INTERPRETER_LUA_LAYOUT_H
#define NODE_AGENT_INTERPRETER_LUA_LAYOUT_H

#include "common/base.h"

/* In a code object (Proto): arrays, and how many elements they have. */
struct lua_array {
	uint8_t at;
	uint8_t size_at;
};

#define LUA_MINOR_JIT 100u /* LuaJIT: arrays are elsewhere, see luajit_code.c */

struct lua_layout {
	uint8_t minor; /* of 5.minor, or LUA_MINOR_JIT; 0: none */
	struct lua_array constants;
	struct lua_array code;
	struct lua_array lines;
	struct lua_array locals;
	struct lua_array upvalues;
	struct lua_array line_marks; /* 5.4: every so often a line, from which others are counted */
	uint8_t source;
	uint8_t first_line; /* followed by the last one */
	uint8_t check_more; /* as in struct chain_frames, where first_line is the first check */
	uint8_t n_parameters;
};

#endif /* NODE_AGENT_INTERPRETER_LUA_LAYOUT_H */
