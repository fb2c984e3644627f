/*
 * Code objects of Lua (Proto) in the memory of a process, and what their instructions say: lines,
 * and what a function that is called is called by. Pure.
 */
#ifndef NODE_AGENT_INTERPRETER_LUA_LUA_CODE_H
#define NODE_AGENT_INTERPRETER_LUA_LUA_CODE_H

#include "common/base.h"
#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/lua/lua_opcodes.h"
#include "node-agent/interpreter/lua_layout.h"

#define LUA_PROTO_BYTES 128u /* at most */
#define LUA_LINE_MAX 100000000u
#define LUA_ELEMENTS_MAX (1u << 26) /* of an array of a code object */

struct lua_elements {
	uint64_t at;
	uint32_t n;
};

struct lua_code;

/* What is different in PUC-Rio's Lua and in LuaJIT. Names are as of lua_string_read(). */
struct lua_dialect {
	size_t bytes; /* of a code object that are read */
	bool (*is_code)(const struct lua_code *c);
	struct lua_elements (*instructions)(const struct lua_code *c);
	uint32_t (*line)(const struct lua_code *c, uint32_t index);
	int (*string)(const struct lua_code *c, uint64_t at, char *to, size_t cap);
	int (*constant_name)(const struct lua_code *c, uint32_t number, char *to, size_t cap);
	int (*upvalue_name)(const struct lua_code *c, uint32_t number, char *to, size_t cap);
	/* Of the local variable that the register has at this instruction; -ENOENT: none. */
	int (*local_name)(const struct lua_code *c, uint32_t reg, uint32_t index, char *to,
			  size_t cap);
	struct lua_instruction (*instruction)(uint8_t minor, uint32_t word);
	const char *(*event_name)(uint8_t minor, const struct lua_instruction *i);
};

struct lua_code {
	const struct lua_dialect *dialect;
	const struct lua_layout *layout;
	const struct interpreter_memory *memory;
	uint64_t at;
	uint8_t bytes[LUA_PROTO_BYTES];
};

/* Returns 0; -EBADMSG if it cannot be a code object; or an error of interpreter_read(). */
int lua_code_read(struct lua_code *c, const struct lua_layout *layout,
		  const struct interpreter_memory *memory, uint64_t at) MUST_CHECK;

/* Of the bytes of a code object. */
static inline uint64_t lua_code_field(const struct lua_code *c, unsigned offset, size_t size)
{
	uint64_t v = 0;

	if (offset + size <= sizeof(c->bytes))
		memcpy(&v, c->bytes + offset, size);
	return v;
}

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
