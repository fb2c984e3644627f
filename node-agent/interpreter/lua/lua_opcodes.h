/* Instructions of Lua 5.1 to 5.5, as far as names of functions need them (lopcodes.h). Pure. */
#ifndef NODE_AGENT_INTERPRETER_LUA_LUA_OPCODES_H
#define NODE_AGENT_INTERPRETER_LUA_LUA_OPCODES_H

#include "common/base.h"

enum lua_op {
	LUA_OP_OTHER,         /* sets no register */
	LUA_OP_SETS,          /* a, to something that has no name */
	LUA_OP_MOVE,          /* a = register b */
	LUA_OP_CONSTANT,      /* a = constant b */
	LUA_OP_LOADNIL,       /* registers a to b */
	LUA_OP_UPVALUE,       /* a = upvalue b */
	LUA_OP_GLOBAL,        /* a = the global variable with the name of constant b */
	LUA_OP_UPVALUE_FIELD, /* a = field c of upvalue b */
	LUA_OP_FIELD,         /* a = field c of register b */
	LUA_OP_SELF,          /* likewise: a method */
	LUA_OP_CALL,          /* the function in register a */
	LUA_OP_FOR_CALL,      /* the iterator of a loop */
	LUA_OP_JUMP,
};

struct lua_instruction {
	enum lua_op kind;
	uint8_t number; /* of the release */
	bool c_is_constant;
	uint32_t a, b, c;
	int32_t jump; /* from the next instruction */
};

struct lua_instruction lua_instruction(uint8_t minor, uint32_t word);

/*
 * The name of the function that the instruction may call without saying so: of a metamethod, as
 * "__index", or the iterator of a loop. NULL: it calls none.
 */
const char *lua_event_name(uint8_t minor, const struct lua_instruction *i);

#endif /* NODE_AGENT_INTERPRETER_LUA_LUA_OPCODES_H */
