#include "node-agent/interpreter/python/python_text.h"

#include <errno.h>

#include "common/text/utf8.h"

#define HEAD_BYTES 128u /* of a str or bytes object: more than what is in front of its text */
#define TYPE_NAME_BYTES 16u
#define WIDE_CHARACTERS 1024u /* that are read at most of a str that is not ASCII */

static uint64_t word_at(const uint8_t *head, size_t offset, size_t size)
{
	uint64_t v = 0;

	if (offset + size <= HEAD_BYTES)
		memcpy(&v, head + offset, size);
	return v;
}

int python_type_check(const struct python_memory *m, uint64_t at, uint64_t type_vaddr,
		      const char *type_name)
{
	char name[TYPE_NAME_BYTES] = "";
	uint64_t type, name_at;
	int r = interpreter_read(m->memory, at + m->layout->object_type, &type, sizeof(type));

	if (r < 0 || type == m->bias + type_vaddr)
		return r;
	r = interpreter_read(m->memory, type + m->layout->type_name, &name_at, sizeof(name_at));
	if (r == 0)
		r = interpreter_read(m->memory, name_at, name, strlen(type_name) + 1);
	if (r == -EFAULT)
		return -EBADMSG;
	return r < 0 ? r : strcmp(name, type_name) == 0 ? 0 : -EBADMSG;
}

/* Reads n characters of 1, 2 or 4 bytes. */
static int read_wide(const struct python_memory *m, uint64_t data, unsigned kind, uint64_t n,
		     char *to, size_t cap)
{
	uint8_t raw[WIDE_CHARACTERS * 4];
	size_t count = n < WIDE_CHARACTERS ? (size_t)n : WIDE_CHARACTERS, len = 0;
	int r;

	if (count > cap)
		count = cap;
	r = interpreter_read(m->memory, data, raw, count * kind);
	for (size_t i = 0; r == 0 && i < count; i++) {
		uint32_t c = 0;

		memcpy(&c, raw + i * kind, kind);
		if (!utf8_put(to, cap, &len, c))
			break;
	}
	to[len] = '\0';
	return r;
}

static int read_ascii(const struct python_memory *m, uint64_t data, uint64_t n, char *to,
		      size_t cap)
{
	size_t len = n < cap ? (size_t)n : cap - 1;
	int r = interpreter_read(m->memory, data, to, len);

	if (r < 0)
		len = 0;
	to[utf8_make_printable(to, len)] = '\0';
	return r;
}

int python_str_read(const struct python_memory *m, uint64_t at, char *to, size_t cap)
{
	const struct python_layout *l = m->layout;
	uint8_t head[HEAD_BYTES] = {0};
	uint64_t length, state, data;
	unsigned kind;
	int r;

	*to = '\0';
	if (at == 0 || l->str_compact + sizeof(uint64_t) > sizeof(head))
		return -EBADMSG;
	r = interpreter_read(m->memory, at, head, l->str_compact + sizeof(uint64_t));
	/* a short str may be the last object before memory that is not mapped */
	if (r == -EFAULT)
		r = interpreter_read(m->memory, at, head, l->str_ascii);
	if (r == 0 && word_at(head, l->object_type, 8) != m->bias + l->str_type)
		r = python_type_check(m, at, l->str_type, "str");
	if (r < 0)
		return r;
	length = word_at(head, l->str_length, 8);
	state = word_at(head, l->str_state, 4) >> l->str_kind_shift;
	kind = state & 7;
	if (length > INT64_MAX || (kind != 1 && kind != 2 && kind != 4))
		return -EBADMSG;
	if ((state >> 3 & 3) == 3)
		return read_ascii(m, at + l->str_ascii, length, to, cap);
	data = state >> 3 & 1 ? at + l->str_compact : word_at(head, l->str_compact, 8);
	return read_wide(m, data, kind, length, to, cap);
}

int python_bytes_read(const struct python_memory *m, uint64_t at, uint8_t *to, size_t cap)
{
	const struct python_layout *l = m->layout;
	uint64_t n;
	int r;

	if (at == 0)
		return -EBADMSG;
	r = python_type_check(m, at, l->bytes_type, "bytes");
	if (r == 0)
		r = interpreter_read(m->memory, at + l->bytes_size, &n, sizeof(n));
	if (r < 0)
		return r;
	if (n > INT64_MAX)
		return -EBADMSG;
	if (n > cap)
		n = cap;
	r = n > 0 ? interpreter_read(m->memory, at + l->bytes_data, to, (size_t)n) : 0;
	return r < 0 ? r : (int)n;
}
