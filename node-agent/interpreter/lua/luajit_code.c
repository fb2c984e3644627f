/*
 * GCproto of lj_obj.h with values of 64 bits; what follows lineinfo is packed (lj_debug.c). All of
 * it, and the opcodes, are the same in all that is called 2.1.
 */
#include "node-agent/interpreter/lua/luajit_code.h"

#include <errno.h>

#include "common/text/utf8.h"

#define OBJECT_KIND 9u /* in any object */
#define KIND_STRING 4u /* ~LJ_TSTR */
#define KIND_PROTO 7u  /* ~LJ_TPROTO */
#define STRING_TEXT 24u
#define PROTO_BYTES 104u /* instructions follow */
#define PROTO_SIZE 12u
#define PROTO_CONSTANTS 32u /* the address behind the objects, the last of which is the first */
#define PROTO_N_OBJECTS 48u
#define PROTO_N_UPVALUES 60u
#define PROTO_LINES 80u
#define PROTO_UPVALUE_NAMES 88u
#define PROTO_LOCALS 96u
#define PIECE_BYTES 256u
#define LOCALS_MAX 4096u
#define LOCALS_BYTES_MAX 65536u
#define UPVALUES_MAX 256u

static bool is_code(const struct lua_code *c)
{
	return lua_code_field(c, OBJECT_KIND, 1) == KIND_PROTO;
}

static struct lua_elements instructions(const struct lua_code *c)
{
	uint32_t n = (uint32_t)lua_code_field(c, PROTO_SIZE, 4);

	return (struct lua_elements){c->at + PROTO_BYTES, n > LUA_ELEMENTS_MAX ? 0 : n};
}

/* The first instruction is that of the function itself, and has no entry. */
static uint32_t line_of(const struct lua_code *c, uint32_t index)
{
	uint32_t first = lua_code_first_line(c), line = 0;
	uint32_t n_lines = (uint32_t)lua_code_field(c, LUAJIT_FIRST_LINE + 4, 4);
	uint64_t lines = lua_code_field(c, PROTO_LINES, 8);
	size_t bytes = n_lines < 1u << 8 ? 1 : n_lines < 1u << 16 ? 2 : 4;

	if (index == 0 || lines == 0)
		return first;
	if (interpreter_read(c->memory, lines + (index - 1) * bytes, &line, bytes) < 0 ||
	    line > n_lines || first + line > LUA_LINE_MAX)
		return 0;
	return first + line;
}

/* ---- packed texts ---- */

/* Bytes from an address on, read in pieces that end where a page may. */
struct bytes {
	const struct interpreter_memory *memory;
	uint64_t at; /* of the next piece */
	uint8_t piece[PIECE_BYTES];
	size_t n, used;
	uint32_t n_left; /* bytes that are still read */
	bool ended;
};

static void begin(struct bytes *b, const struct lua_code *c, uint64_t at, uint32_t max)
{
	b->memory = c->memory;
	b->at = at;
	b->n = b->used = 0;
	b->n_left = max;
	b->ended = at == 0;
}

/* 0 from the end on. */
static uint8_t next(struct bytes *b)
{
	if (!b->ended && b->used == b->n) {
		b->n = PIECE_BYTES - b->at % PIECE_BYTES;
		b->used = 0;
		b->ended = b->n_left == 0 || interpreter_read(b->memory, b->at, b->piece, b->n) < 0;
		b->at += b->n;
		b->n_left -= b->n_left < b->n ? b->n_left : (uint32_t)b->n;
	}
	return b->ended ? 0 : b->piece[b->used++];
}

static uint32_t next_number(struct bytes *b)
{
	uint32_t v = 0;

	for (unsigned shift = 0; shift < 32; shift += 7) {
		uint8_t byte = next(b);

		v |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return v;
}

/* Up to a byte 0. Returns -ENOENT for no text. */
static int next_text(struct bytes *b, uint8_t first, char *to, size_t cap)
{
	size_t len = 0;

	for (uint8_t byte = first; byte != 0; byte = next(b)) {
		if (len + 1 < cap)
			to[len++] = (char)byte;
	}
	to[utf8_make_printable(to, len)] = '\0';
	return len > 0 ? 0 : -ENOENT;
}

/*
 * Where the length of a string is differs between releases, but all end with a byte 0, and names
 * have none within.
 */
static int read_string(const struct lua_code *c, uint64_t at, char *to, size_t cap)
{
	uint8_t kind;
	struct bytes b;
	int r = interpreter_read(c->memory, at + OBJECT_KIND, &kind, sizeof(kind));

	*to = '\0';
	if (r < 0)
		return r;
	if (kind != KIND_STRING)
		return -EBADMSG;
	begin(&b, c, at + STRING_TEXT, (uint32_t)cap);
	(void)!next_text(&b, next(&b), to, cap);
	return b.ended && b.n_left > 0 ? -EFAULT : 0;
}

static int constant_name(const struct lua_code *c, uint32_t number, char *to, size_t cap)
{
	uint64_t constants = lua_code_field(c, PROTO_CONSTANTS, 8), object;

	if (number >= lua_code_field(c, PROTO_N_OBJECTS, 4) ||
	    interpreter_read(c->memory, constants - 8 * (1 + (uint64_t)number), &object,
			     sizeof(object)) < 0)
		return -ENOENT;
	return read_string(c, object, to, cap);
}

static int upvalue_name(const struct lua_code *c, uint32_t number, char *to, size_t cap)
{
	struct bytes b;

	if (number >= lua_code_field(c, PROTO_N_UPVALUES, 1))
		return -ENOENT;
	begin(&b, c, lua_code_field(c, PROTO_UPVALUE_NAMES, 8), LOCALS_BYTES_MAX);
	for (uint32_t i = 0; i < number && i < UPVALUES_MAX; i++) {
		while (next(&b) != 0)
			;
	}
	return next_text(&b, next(&b), to, cap);
}

/* Variables that no program can name: those of loops. Below it, the first byte is their number. */
#define NAMED_FROM 7u

/* Each: its name, how many instructions after the one before it begins, and for how many it is. */
static int local_name(const struct lua_code *c, uint32_t reg, uint32_t index, char *to, size_t cap)
{
	struct bytes b;
	uint32_t from = 0;

	begin(&b, c, lua_code_field(c, PROTO_LOCALS, 8), LOCALS_BYTES_MAX);
	for (unsigned i = 0; i < LOCALS_MAX; i++) {
		uint8_t first = next(&b);
		uint32_t n;

		if (first == 0)
			return -ENOENT;
		*to = '\0';
		if (first >= NAMED_FROM)
			(void)!next_text(&b, first, to, cap);
		from += next_number(&b);
		n = next_number(&b);
		if (from > index)
			return -ENOENT;
		if (index - from < n && reg-- == 0)
			return *to ? 0 : -ENOENT;
	}
	return -ENOENT;
}

/* ---- instructions ---- */

/* From the opcode in the lowest byte on: a, c, b; the upper half is d, too. */
static const struct {
	uint8_t last; /* opcode of this kind */
	uint8_t kind; /* enum lua_op */
	const char *event;
} kinds[] = {
	{1, LUA_OP_OTHER, "__lt"},
	{3, LUA_OP_OTHER, "__le"},
	{11, LUA_OP_OTHER, "__eq"},
	{13, LUA_OP_SETS, NULL},
	{17, LUA_OP_OTHER, NULL},
	{18, LUA_OP_MOVE, NULL},
	{19, LUA_OP_SETS, NULL},
	{20, LUA_OP_SETS, "__unm"},
	{21, LUA_OP_SETS, "__len"},
	{22, LUA_OP_SETS, "__add"},
	{23, LUA_OP_SETS, "__sub"},
	{24, LUA_OP_SETS, "__mul"},
	{25, LUA_OP_SETS, "__div"},
	{26, LUA_OP_SETS, "__mod"},
	{27, LUA_OP_SETS, "__add"},
	{28, LUA_OP_SETS, "__sub"},
	{29, LUA_OP_SETS, "__mul"},
	{30, LUA_OP_SETS, "__div"},
	{31, LUA_OP_SETS, "__mod"},
	{32, LUA_OP_SETS, "__add"},
	{33, LUA_OP_SETS, "__sub"},
	{34, LUA_OP_SETS, "__mul"},
	{35, LUA_OP_SETS, "__div"},
	{36, LUA_OP_SETS, "__mod"},
	{37, LUA_OP_SETS, "__pow"},
	{38, LUA_OP_SETS, "__concat"},
	{39, LUA_OP_CONSTANT, NULL},
	{43, LUA_OP_SETS, NULL},
	{44, LUA_OP_LOADNIL, NULL},
	{45, LUA_OP_UPVALUE, NULL},
	{50, LUA_OP_OTHER, NULL},
	{53, LUA_OP_SETS, "__gc"},
	{54, LUA_OP_GLOBAL, "__index"},
	{55, LUA_OP_OTHER, "__newindex"},
	{56, LUA_OP_SETS, "__index"},
	{57, LUA_OP_FIELD, "__index"},
	{59, LUA_OP_SETS, "__index"},
	{64, LUA_OP_OTHER, "__newindex"},
	{68, LUA_OP_CALL, NULL},
	{70, LUA_OP_FOR_CALL, "for iterator"},
	{71, LUA_OP_LOADNIL, NULL}, /* VARG: from a on */
	{76, LUA_OP_OTHER, NULL},
	{78, LUA_OP_LOADNIL, NULL}, /* FORI, and for what follows: a to a + 3 */
	{81, LUA_OP_LOADNIL, NULL},
	{87, LUA_OP_OTHER, NULL},
	{88, LUA_OP_JUMP, NULL},
};

#define OP_VARG 71u
#define OP_FOR_FIRST 77u
#define REGISTERS 256u

static size_t kind_of(uint32_t opcode)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(kinds) && kinds[i].last < opcode)
		i++;
	return i;
}

static struct lua_instruction instruction(uint8_t minor, uint32_t word)
{
	size_t kind = kind_of(word & 0xff);
	struct lua_instruction i = {
		.kind = kind < ARRAY_SIZE(kinds) ? kinds[kind].kind : LUA_OP_OTHER,
		.number = word & 0xff,
		.c_is_constant = true,
		.a = word >> 8 & 0xff,
		.b = word >> 16,
		.c = word >> 16 & 0xff,
		.jump = (int32_t)(word >> 16) - 0x8000,
	};

	(void)minor;
	if (i.kind == LUA_OP_FIELD)
		i.b = word >> 24;
	else if (i.number == OP_VARG)
		i.b = REGISTERS - 1;
	else if (i.number >= OP_FOR_FIRST && i.kind == LUA_OP_LOADNIL)
		i.b = i.a + 3;
	else if (i.kind == LUA_OP_FOR_CALL) /* the results are from a on, not behind */
		i.a -= i.a < 2 ? i.a : 2;
	return i;
}

static const char *event_name(uint8_t minor, const struct lua_instruction *i)
{
	size_t kind = kind_of(i->number);

	(void)minor;
	return kind < ARRAY_SIZE(kinds) ? kinds[kind].event : NULL;
}

const struct lua_dialect luajit_dialect = {
	PROTO_BYTES,   is_code,      instructions, line_of,     read_string,
	constant_name, upvalue_name, local_name,   instruction, event_name,
};
