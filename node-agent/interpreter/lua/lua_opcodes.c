#include "node-agent/interpreter/lua/lua_opcodes.h"

#define OPCODES 128u
#define CONSTANT_BIT 256u /* of operands with 9 bits, up to 5.3 */

struct opcode {
	uint8_t kind; /* enum lua_op */
	const char *event;
};

#define SETS(event_)                \
	{                           \
		LUA_OP_SETS, event_ \
	}
#define ONLY(event_)                 \
	{                            \
		LUA_OP_OTHER, event_ \
	}

static const struct opcode opcodes_5_1[OPCODES] = {
	[0] = {LUA_OP_MOVE, NULL},
	[1] = {LUA_OP_CONSTANT, NULL},
	[2] = SETS(NULL),
	[3] = {LUA_OP_LOADNIL, NULL},
	[4] = {LUA_OP_UPVALUE, NULL},
	[5] = {LUA_OP_GLOBAL, "__index"},
	[6] = {LUA_OP_FIELD, "__index"},
	[7] = ONLY("__newindex"),
	[9] = ONLY("__newindex"),
	[10] = SETS(NULL),
	[11] = {LUA_OP_SELF, "__index"},
	[12] = SETS("__add"),
	[13] = SETS("__sub"),
	[14] = SETS("__mul"),
	[15] = SETS("__div"),
	[16] = SETS("__mod"),
	[17] = SETS("__pow"),
	[18] = SETS("__unm"),
	[19] = SETS(NULL),
	[20] = SETS("__len"),
	[21] = SETS("__concat"),
	[22] = {LUA_OP_JUMP, NULL},
	[23] = ONLY("__eq"),
	[24] = ONLY("__lt"),
	[25] = ONLY("__le"),
	[27] = SETS(NULL),
	[28 ... 29] = {LUA_OP_CALL, NULL},
	[31 ... 32] = SETS(NULL),
	[33] = {LUA_OP_FOR_CALL, "for iterator"},
	[36 ... 37] = SETS(NULL),
};

#define OPCODES_SINCE_5_2                                                                   \
	[0] = {LUA_OP_MOVE, NULL}, [1] = {LUA_OP_CONSTANT, NULL},                           \
	[2 ... 3] = SETS(NULL), [4] = {LUA_OP_LOADNIL, NULL}, [5] = {LUA_OP_UPVALUE, NULL}, \
	[6] = {LUA_OP_UPVALUE_FIELD, "__index"}, [7] = {LUA_OP_FIELD, "__index"},           \
	[8] = ONLY("__newindex"), [10] = ONLY("__newindex"), [11] = SETS(NULL),             \
	[12] = {LUA_OP_SELF, "__index"}, [13] = SETS("__add"), [14] = SETS("__sub"),        \
	[15] = SETS("__mul")

static const struct opcode opcodes_5_2[OPCODES] = {
	OPCODES_SINCE_5_2,          [16] = SETS("__div"),
	[17] = SETS("__mod"),       [18] = SETS("__pow"),
	[19] = SETS("__unm"),       [20] = SETS(NULL),
	[21] = SETS("__len"),       [22] = SETS("__concat"),
	[23] = {LUA_OP_JUMP, NULL}, [24] = ONLY("__eq"),
	[25] = ONLY("__lt"),        [26] = ONLY("__le"),
	[28] = SETS(NULL),          [29 ... 30] = {LUA_OP_CALL, NULL},
	[32 ... 33] = SETS(NULL),   [34] = {LUA_OP_FOR_CALL, "for iterator"},
	[35] = SETS(NULL),          [37 ... 38] = SETS(NULL),
};

static const struct opcode opcodes_5_3[OPCODES] = {
	OPCODES_SINCE_5_2,
	[16] = SETS("__mod"),
	[17] = SETS("__pow"),
	[18] = SETS("__div"),
	[19] = SETS("__idiv"),
	[20] = SETS("__band"),
	[21] = SETS("__bor"),
	[22] = SETS("__bxor"),
	[23] = SETS("__shl"),
	[24] = SETS("__shr"),
	[25] = SETS("__unm"),
	[26] = SETS("__bnot"),
	[27] = SETS(NULL),
	[28] = SETS("__len"),
	[29] = SETS("__concat"),
	[30] = {LUA_OP_JUMP, NULL},
	[31] = ONLY("__eq"),
	[32] = ONLY("__lt"),
	[33] = ONLY("__le"),
	[35] = SETS(NULL),
	[36 ... 37] = {LUA_OP_CALL, NULL},
	[39 ... 40] = SETS(NULL),
	[41] = {LUA_OP_FOR_CALL, "for iterator"},
	[42] = SETS(NULL),
	[44 ... 45] = SETS(NULL),
};

#define INTEGER_FIELD 13u /* OP_GETI of 5.4: its field has no name */
#define GET_FIELD 14u
#define SELF 20u
#define UPVALUE_FIELD 11u
#define BINARY_FIRST 46u /* OP_MMBIN to OP_MMBINK: their operand c says which */
#define BINARY_LAST 48u

/* 5.5 has other names for two that shift, and two more behind the last of these. */
static const struct opcode opcodes_5_4[OPCODES] = {
	[0] = {LUA_OP_MOVE, NULL},
	[1 ... 2] = SETS(NULL),
	[3] = {LUA_OP_CONSTANT, NULL},
	[4 ... 7] = SETS(NULL),
	[8] = {LUA_OP_LOADNIL, NULL},
	[9] = {LUA_OP_UPVALUE, NULL},
	[UPVALUE_FIELD] = {LUA_OP_UPVALUE_FIELD, "__index"},
	[12] = {LUA_OP_FIELD, "__index"},
	[INTEGER_FIELD] = SETS("__index"),
	[GET_FIELD] = {LUA_OP_FIELD, "__index"},
	[15 ... 18] = ONLY("__newindex"),
	[19] = SETS(NULL),
	[SELF] = {LUA_OP_SELF, "__index"},
	[21 ... 45] = SETS(NULL),
	[49] = SETS("__unm"),
	[50] = SETS("__bnot"),
	[51] = SETS(NULL),
	[52] = SETS("__len"),
	[53] = SETS("__concat"),
	[54] = ONLY("__close"),
	[56] = {LUA_OP_JUMP, NULL},
	[57] = ONLY("__eq"),
	[58] = ONLY("__lt"),
	[59] = ONLY("__le"),
	[62] = ONLY("__lt"),
	[63] = ONLY("__le"),
	[64] = ONLY("__lt"),
	[65] = ONLY("__le"),
	[67] = SETS(NULL),
	[68 ... 69] = {LUA_OP_CALL, NULL},
	[70] = ONLY("__close"),
	[73 ... 74] = SETS(NULL),
	[76] = {LUA_OP_FOR_CALL, "for iterator"},
	[77] = SETS(NULL),
	[79 ... 81] = SETS(NULL),
};

static const struct opcode *const opcodes_of[] = {NULL,        opcodes_5_1, opcodes_5_2,
						  opcodes_5_3, opcodes_5_4, opcodes_5_4};

static const struct opcode *opcode_of(uint8_t minor, uint8_t number)
{
	return minor < ARRAY_SIZE(opcodes_of) && opcodes_of[minor]
		       ? &opcodes_of[minor][number % OPCODES]
		       : &opcodes_5_4[OPCODES - 1];
}

/* 7 bits of the opcode; 8 each of a, b and c, with one between a and b */
static struct lua_instruction instruction_5_4(uint8_t minor, uint32_t word)
{
	struct lua_instruction i = {
		.number = word & 0x7f,
		.a = word >> 7 & 0xff,
		.b = word >> 16 & 0xff,
		.c = word >> 24,
		.jump = (int32_t)(word >> 7) - 0xffffff,
	};

	i.c_is_constant = i.number == UPVALUE_FIELD || i.number == GET_FIELD ||
			  (i.number == SELF && minor >= 5) || word >> 15 & 1;
	return i;
}

/* 6 bits of the opcode; 8 of a; 9 each of c and b, or 18 of both */
static struct lua_instruction instruction_before_5_4(uint32_t word)
{
	struct lua_instruction i = {
		.number = word & 0x3f,
		.a = word >> 6 & 0xff,
		.b = word >> 23,
		.c = word >> 14 & 0x1ff,
		.jump = (int32_t)(word >> 14) - 0x1ffff,
	};

	i.c_is_constant = i.c & CONSTANT_BIT;
	i.c &= CONSTANT_BIT - 1;
	return i;
}

struct lua_instruction lua_instruction(uint8_t minor, uint32_t word)
{
	struct lua_instruction i =
		minor >= 4 ? instruction_5_4(minor, word) : instruction_before_5_4(word);

	i.kind = opcode_of(minor, i.number)->kind;
	if (i.kind == LUA_OP_CONSTANT || i.kind == LUA_OP_GLOBAL)
		i.b = word >> (minor >= 4 ? 15 : 14);
	else if (i.kind == LUA_OP_LOADNIL && minor > 1) /* how many more */
		i.b += i.a;
	return i;
}

const char *lua_event_name(uint8_t minor, const struct lua_instruction *i)
{
	/* from TM_ADD on (ltm.h) */
	static const char *const binary[] = {
		"__add",  "__sub",  "__mul", "__mod",  "__pow", "__div",
		"__idiv", "__band", "__bor", "__bxor", "__shl", "__shr",
	};

	if (minor >= 4 && i->number >= BINARY_FIRST && i->number <= BINARY_LAST)
		return i->c >= 6 && i->c - 6 < ARRAY_SIZE(binary) ? binary[i->c - 6] : NULL;
	return opcode_of(minor, i->number)->event;
}
