#include "node-agent/interpreter/hotspot/hotspot_method.h"

#include <errno.h>

#include "common/jfr/java_names.h"
#include "node-agent/interpreter/hotspot/hotspot_numbers.h"

#define CONST_MAX_BYTES 512u /* of a ConstMethod without its code */
#define ALL_MAX_WORDS (1u << 20)
#define SYMBOL_MAX_BYTES 1024u
/* Of these the name of a function is made. */
#define CLASS_NAME_BYTES 340
#define METHOD_NAME_BYTES 170
#define LINES_MAX 70000u /* entries of a table */
/* Two numbers follow instead; 0 is the end. */
#define LINE_ESCAPE 0xffu

static uint64_t field(const uint8_t *bytes, uint16_t offset, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, bytes + offset, size);
	return v;
}

static int read_word(const struct interpreter_memory *memory, uint64_t at, uint64_t *ret)
{
	return interpreter_read(memory, at, ret, sizeof(*ret));
}

int hotspot_method_read(const struct hotspot_layout *l, const struct interpreter_memory *memory,
			uint64_t method, struct hotspot_method *ret)
{
	uint8_t bytes[CONST_MAX_BYTES + sizeof(uint64_t)] = {0};
	uint32_t words;
	int r;

	if (method == 0 || method % sizeof(uint64_t) != 0 || l->const_bytes > CONST_MAX_BYTES)
		return -EBADMSG;
	r = read_word(memory, method + l->walk.const_method, &ret->constant);
	if (r == 0)
		r = interpreter_read(memory, ret->constant, bytes, l->const_bytes);
	if (r < 0)
		return r;
	words = (uint32_t)field(bytes, l->const_words, sizeof(uint32_t));
	ret->pool = field(bytes, l->const_constants, sizeof(uint64_t));
	ret->code_bytes = (uint32_t)field(bytes, l->const_code_bytes, sizeof(uint16_t));
	ret->name = (uint16_t)field(bytes, l->const_name, sizeof(uint16_t));
	ret->has_lines = field(bytes, l->const_flags, sizeof(uint16_t)) & l->lines_flag;
	if (words > ALL_MAX_WORDS ||
	    words * sizeof(uint64_t) < (uint64_t)l->const_bytes + ret->code_bytes)
		return -EBADMSG;
	ret->all_bytes = words * (uint32_t)sizeof(uint64_t);
	return 0;
}

/* ---- names ---- */

static int read_symbol(const struct hotspot_layout *l, const struct interpreter_memory *memory,
		       uint64_t symbol, char to[SYMBOL_MAX_BYTES], size_t *len)
{
	uint16_t n = 0;
	int r;

	if (symbol == 0)
		return -EBADMSG;
	r = interpreter_read(memory, symbol + l->symbol_length, &n, sizeof(n));
	*len = n < SYMBOL_MAX_BYTES ? n : SYMBOL_MAX_BYTES;
	return r == 0 ? interpreter_read(memory, symbol + l->symbol_body, to, *len) : r;
}

static int read_class(const struct hotspot_layout *l, const struct interpreter_memory *memory,
		      uint64_t pool, char to[SYMBOL_MAX_BYTES], size_t *len)
{
	uint64_t class, name = 0;
	int r = read_word(memory, pool + l->pool_holder, &class);

	if (r == 0)
		r = class == 0 ? -EBADMSG : read_word(memory, class + l->klass_name, &name);
	return r == 0 ? read_symbol(l, memory, name, to, len) : r;
}

int hotspot_method_name(const struct hotspot_layout *l, const struct interpreter_memory *memory,
			const struct hotspot_method *m, struct interpreter_name *ret)
{
	UNINITIALIZED char class[SYMBOL_MAX_BYTES], name[SYMBOL_MAX_BYTES];
	UNINITIALIZED struct java_name text, method;
	size_t class_len, name_len;
	uint64_t symbol;
	int r;

	r = read_word(memory, m->pool + l->pool_bytes + (uint64_t)m->name * sizeof(uint64_t),
		      &symbol);
	if (r == 0)
		r = read_symbol(l, memory, symbol, name, &name_len);
	if (r == 0)
		r = read_class(l, memory, m->pool, class, &class_len);
	if (r < 0)
		return r;
	if (class_len == 0 || name_len == 0)
		return -EBADMSG;
	java_name_of_class(&text, class, class_len);
	java_name_of_text(&method, name, name_len);
	snprintf(ret->function, sizeof(ret->function), "%.*s.%.*s", CLASS_NAME_BYTES, text.text,
		 METHOD_NAME_BYTES, method.text);
	java_name_of_file(&text, class, class_len);
	snprintf(ret->file, sizeof(ret->file), "%.*s", (int)sizeof(ret->file) - 1, text.text);
	return 0;
}

/* ---- lines ---- */

void hotspot_method_line(const struct hotspot_layout *l, const struct interpreter_memory *memory,
			 const struct hotspot_method *m, int64_t bytecode,
			 struct interpreter_name *ret)
{
	uint64_t from = m->constant + l->const_bytes + m->code_bytes;
	UNINITIALIZED struct hotspot_numbers s;
	int64_t at = 0, line = 0, best = -1;

	if (!m->has_lines)
		return;
	hotspot_numbers_begin(&s, memory, from, m->constant + m->all_bytes, l->byte_excess);
	for (uint32_t i = 0; i < LINES_MAX; i++) {
		uint8_t byte = hotspot_numbers_byte(&s);

		if (byte == 0 || s.error != 0)
			break;
		at += byte == LINE_ESCAPE ? hotspot_numbers_read_signed(&s) : byte >> 3;
		line += byte == LINE_ESCAPE ? hotspot_numbers_read_signed(&s) : byte & 7;
		if (s.error != 0 || line <= 0 || line > UINT16_MAX)
			continue;
		if (ret->start_line == 0 || (uint32_t)line < ret->start_line)
			ret->start_line = (uint32_t)line;
		if (at <= bytecode && at >= best) {
			best = at;
			ret->line = (uint32_t)line;
		}
	}
	if (ret->line == 0)
		ret->line = ret->start_line;
}
