/*
 * Code objects of Lua (Proto) in the memory of a process, and what their instructions say: lines,
 * and what a function that is called is called by. Pure.
 */
#ifndef NODE_AGENT_INTERPRETER_LUA_LUA_CODE_H
#define NODE_AGENT_INTERPRETER_LUA_LUA_CODE_H

#include "common/base.h"
#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/lua_layout.h"

#define LUA_PROTO_BYTES 128u
#define LUA_LINE_MAX 100000000u

struct lua_code {
	const struct lua_layout *layout;
	const struct interpreter_memory *memory;
	uint8_t bytes[LUA_PROTO_BYTES];
};

struct lua_elements {
	uint64_t at;
	uint32_t n;
};

/* Returns 0; -EBADMSG if it cannot be a code object; or an error of interpreter_read(). */
int lua_code_read(struct lua_code *c, const struct lua_layout *layout,
		  const struct interpreter_memory *memory, uint64_t at) MUST_CHECK;

struct lua_elements lua_code_array(const struct lua_code *c, struct lua_array array);
uint64_t lua_code_source(const struct lua_code *c);     /* a string */
uint32_t lua_code_first_line(const struct lua_code *c); /* 0: of a file, not of a function */

/*
 * The index of the instruction that is executed, where `at` is the next one's address. Returns
 * false if it is none of the code.
 */
bool lua_code_index(const struct lua_code *c, uint64_t at, uint32_t *ret);

/* The line of an instruction; 0: not known. */
uint32_t lua_code_line(const struct lua_code *c, uint32_t index);

/*
 * Reads a string object as UTF-8 without control characters; what is longer than cap is cut.
 * Returns 0, -EBADMSG if it is none, or an error of interpreter_read().
 */
int lua_string_read(const struct lua_code *c, uint64_t at, char *to, size_t cap) MUST_CHECK;

/*
 * What the function that this instruction calls is called by. Returns 0; -ENOENT if it has no name:
 * nothing is called, or what is has none.
 */
int lua_called_name(const struct lua_code *c, uint32_t index, char *to, size_t cap) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_LUA_LUA_CODE_H */
