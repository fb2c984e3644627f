#include "node-agent/interpreter/lua/lua_code.h"

#include <errno.h>

#include "common/text/utf8.h"

#define ELEMENTS_MAX (1u << 26) /* of an array of a code object */
#define INSTRUCTION_BYTES 4u
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

static uint64_t field(const struct lua_code *c, unsigned offset, size_t size)
{
	uint64_t v = 0;

	if (offset + size <= sizeof(c->bytes))
		memcpy(&v, c->bytes + offset, size);
	return v;
}

int lua_code_read(struct lua_code *c, const struct lua_layout *layout,
		  const struct interpreter_memory *memory, uint64_t at)
{
	int r = interpreter_read(memory, at, c->bytes, sizeof(c->bytes));
	uint64_t kind;

	c->layout = layout;
	c->memory = memory;
	kind = field(c, STRING_KIND, 1);
	if (r == 0 && (kind < PROTO_KIND_5_1 || kind > 11))
		return -EBADMSG;
	return r;
}

struct lua_elements lua_code_array(const struct lua_code *c, struct lua_array array)
{
	struct lua_elements e = {
		.at = field(c, array.at, 8),
		.n = (uint32_t)field(c, array.size_at, 4),
	};

	if (e.at == 0 || e.n > ELEMENTS_MAX)
		e.n = 0;
	return e;
}

uint64_t lua_code_source(const struct lua_code *c)
{
	return field(c, c->layout->source, 8);
}

uint32_t lua_code_first_line(const struct lua_code *c)
{
	uint32_t line = (uint32_t)field(c, c->layout->first_line, 4);

	return line > LUA_LINE_MAX ? 0 : line;
}

bool lua_code_index(const struct lua_code *c, uint64_t at, uint32_t *ret)
{
	struct lua_elements code = lua_code_array(c, c->layout->code);
	uint64_t n = (at - code.at) / INSTRUCTION_BYTES;

	if (at <= code.at || n == 0 || n > code.n)
		return false;
	*ret = (uint32_t)n - 1;
	return true;
}

/* ---- lines ---- */

struct mark {
	uint32_t index;
	uint32_t line;
};

/* The last line that is stored as such, at or before the instruction. */
static struct mark find_mark(const struct lua_code *c, uint32_t index)
{
	struct lua_elements marks = lua_code_array(c, c->layout->line_marks);
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

uint32_t lua_code_line(const struct lua_code *c, uint32_t index)
{
	struct lua_elements lines = lua_code_array(c, c->layout->lines);
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

int lua_string_read(const struct lua_code *c, uint64_t at, char *to, size_t cap)
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
	r = interpreter_read(c->memory, at + STRING_TEXT, to, len);
	if (r < 0)
		len = 0;
	to[utf8_make_printable(to, len)] = '\0';
	return r;
}
