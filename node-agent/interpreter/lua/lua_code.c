#include "node-agent/interpreter/lua/lua_code.h"

#include <errno.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/lua/luajit_code.h"

#define INSTRUCTION_BYTES 4u
#define LOCALS_MAX 4096u
#define LOCALS_AT_ONCE 256u
#define VALUE_BYTES 16u   /* TValue */
#define ELEMENT_BYTES 16u /* of a local variable, and of an upvalue since 5.2 */
/* TString */
#define STRING_KIND 8u
#define STRING_SHORT_LENGTH 11u
#define STRING_LENGTH 16u
#define STRING_TEXT 24u
#define KIND_STRING 4u       /* LUA_TSTRING; since 5.2 of short strings */
#define KIND_LONG_STRING 20u /* since 5.2 */
#define PROTO_KIND_5_1 9u    /* in lobject.h: those behind the kinds that programs see */
/* 5.4: lines */
#define DELTAS_MAX 256u /* between lines that are stored as such: up to 128 */

/* ---- code objects of Lua ---- */

static bool is_code(const struct lua_code *c)
{
	uint64_t kind = lua_code_field(c, STRING_KIND, 1);

	return kind >= PROTO_KIND_5_1 && kind <= 11;
}

static struct lua_elements array_of(const struct lua_code *c, struct lua_array array)
{
	struct lua_elements e = {
		.at = lua_code_field(c, array.at, 8),
		.n = (uint32_t)lua_code_field(c, array.size_at, 4),
	};

	if (e.at == 0 || e.n > LUA_ELEMENTS_MAX)
		e.n = 0;
	return e;
}

static struct lua_elements instructions(const struct lua_code *c)
{
	return array_of(c, c->layout->code);
}

/* ---- lines ---- */

struct mark {
	uint32_t index;
	uint32_t line;
};

/* The last line that is stored as such, at or before the instruction. */
static struct mark find_mark(const struct lua_code *c, uint32_t index)
{
	struct lua_elements marks = array_of(c, c->layout->line_marks);
	struct mark found = {UINT32_MAX, lua_code_first_line(c)}, m;
	uint32_t low = 0, high = marks.n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (interpreter_read(c->memory, marks.at + middle * sizeof(m), &m, sizeof(m)) < 0)
			break;
		if (m.index <= index) {
			found = m;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return found;
}

static uint32_t counted_line(const struct lua_code *c, uint32_t index, uint64_t lines)
{
	struct mark m = find_mark(c, index);
	uint32_t n = index - m.index; /* from none, those of all up to this one */
	int8_t deltas[DELTAS_MAX];
	int64_t line = m.line;

	if (n > DELTAS_MAX)
		return 0;
	if (interpreter_read(c->memory, lines + (uint32_t)(m.index + 1), deltas, n) < 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		line += deltas[i];
	return line > 0 && line <= LUA_LINE_MAX ? (uint32_t)line : 0;
}

static uint32_t line_of(const struct lua_code *c, uint32_t index)
{
	struct lua_elements lines = array_of(c, c->layout->lines);
	uint32_t line;

	if (index >= lines.n)
		return 0;
	if (c->layout->line_marks.at != 0)
		return counted_line(c, index, lines.at);
	if (interpreter_read(c->memory, lines.at + (uint64_t)index * sizeof(line), &line,
			     sizeof(line)) < 0)
		return 0;
	return line <= LUA_LINE_MAX ? line : 0;
}

/* ---- strings ---- */

static int read_string(const struct lua_code *c, uint64_t at, char *to, size_t cap)
{
	uint8_t head[STRING_TEXT];
	uint64_t length;
	size_t len;
	int r = interpreter_read(c->memory, at, head, sizeof(head));

	*to = '\0';
	if (r < 0)
		return r;
	if (head[STRING_KIND] != KIND_STRING && head[STRING_KIND] != KIND_LONG_STRING)
		return -EBADMSG;
	memcpy(&length, head + STRING_LENGTH, sizeof(length));
	if (c->layout->minor >= 3 && head[STRING_KIND] == KIND_STRING)
		length = head[STRING_SHORT_LENGTH];
	if (length > INT64_MAX)
		return -EBADMSG;
	len = length < cap ? (size_t)length : cap - 1;
	at += STRING_TEXT;
	if (c->layout->minor >= 5 && head[STRING_KIND] == KIND_LONG_STRING)
		r = interpreter_read(c->memory, at, &at, sizeof(at));
	if (r == 0)
		r = interpreter_read(c->memory, at, to, len);
	if (r < 0)
		len = 0;
	to[utf8_make_printable(to, len)] = '\0';
	return r;
}

/* ---- names ---- */

static uint64_t word_at(const struct lua_code *c, uint64_t at)
{
	uint64_t word;

	return interpreter_read(c->memory, at, &word, sizeof(word)) < 0 ? 0 : word;
}

static int constant_name(const struct lua_code *c, uint32_t number, char *to, size_t cap)
{
	struct lua_elements constants = array_of(c, c->layout->constants);

	if (number >= constants.n)
		return -ENOENT;
	return read_string(c, word_at(c, constants.at + (uint64_t)number * VALUE_BYTES), to, cap);
}

static int upvalue_name(const struct lua_code *c, uint32_t number, char *to, size_t cap)
{
	struct lua_elements upvalues = array_of(c, c->layout->upvalues);
	size_t bytes = c->layout->minor == 1 ? sizeof(uint64_t) : ELEMENT_BYTES;

	if (number >= upvalues.n)
		return -ENOENT;
	return read_string(c, word_at(c, upvalues.at + number * bytes), to, cap);
}

struct local {
	uint64_t name;
	uint32_t from;
	uint32_t to;
};
_Static_assert(sizeof(struct local) == ELEMENT_BYTES, "as in memory");

static int local_name(const struct lua_code *c, uint32_t reg, uint32_t index, char *to, size_t cap)
{
	struct lua_elements e = array_of(c, c->layout->locals);
	struct local locals[LOCALS_AT_ONCE];

	for (uint32_t i = 0; i < e.n && i < LOCALS_MAX; i += LOCALS_AT_ONCE) {
		uint32_t n = e.n - i < LOCALS_AT_ONCE ? e.n - i : LOCALS_AT_ONCE;

		if (interpreter_read(c->memory, e.at + (uint64_t)i * sizeof(locals[0]), locals,
				     n * sizeof(locals[0])) < 0)
			return -ENOENT;
		for (uint32_t k = 0; k < n; k++) {
			if (locals[k].from > index)
				return -ENOENT;
			if (index < locals[k].to && reg-- == 0)
				return read_string(c, locals[k].name, to, cap);
		}
	}
	return -ENOENT;
}

static const struct lua_dialect puc = {
	LUA_PROTO_BYTES, is_code,      instructions, line_of,         read_string,
	constant_name,   upvalue_name, local_name,   lua_instruction, lua_event_name,
};

/* ---- of both ---- */

int lua_code_read(struct lua_code *c, const struct lua_layout *layout,
		  const struct interpreter_memory *memory, uint64_t at)
{
	int r;

	*c = (struct lua_code){
		.dialect = layout->minor == LUA_MINOR_JIT ? &luajit_dialect : &puc,
		.layout = layout,
		.memory = memory,
		.at = at,
	};
	r = interpreter_read(memory, at, c->bytes, c->dialect->bytes);
	return r == 0 && !c->dialect->is_code(c) ? -EBADMSG : r;
}

uint64_t lua_code_source(const struct lua_code *c)
{
	return lua_code_field(c, c->layout->source, 8);
}

uint32_t lua_code_first_line(const struct lua_code *c)
{
	uint32_t line = (uint32_t)lua_code_field(c, c->layout->first_line, 4);

	return line > LUA_LINE_MAX ? 0 : line;
}

bool lua_code_index(const struct lua_code *c, uint64_t at, uint32_t *ret)
{
	struct lua_elements code = c->dialect->instructions(c);
	uint64_t n = (at - code.at) / INSTRUCTION_BYTES;

	if (at <= code.at || n == 0 || n > code.n)
		return false;
	*ret = (uint32_t)n - 1;
	return true;
}

uint32_t lua_code_line(const struct lua_code *c, uint32_t index)
{
	return c->dialect->line(c, index);
}

int lua_string_read(const struct lua_code *c, uint64_t at, char *to, size_t cap)
{
	return c->dialect->string(c, at, to, cap);
}
