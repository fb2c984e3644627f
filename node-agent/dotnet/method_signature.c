#include "node-agent/dotnet/method_signature.h"

#include <errno.h>

#define DEPTH_MAX 16u
#define TYPES_MAX 256u /* of a signature */

/* Of a method. */
enum {
	FLAG_INSTANCE = 0x04,
	FLAG_SLOT = 0x08,
	FLAG_MEMBER_REF = 0x10,
	FLAG_CONSTRAINED = 0x20,
	FLAG_OWNER = 0x40,
	FLAG_ELSEWHERE = 0x80,
};

/* Of a type: CorElementType, and what only compiled code has. */
enum {
	TYPE_LAST_PLAIN = 0x0e, /* a string */
	TYPE_POINTER = 0x0f,
	TYPE_REFERENCE = 0x10,
	TYPE_VALUE = 0x11,
	TYPE_CLASS = 0x12,
	TYPE_VARIABLE = 0x13,
	TYPE_ARRAY = 0x14,
	TYPE_GENERIC = 0x15,
	TYPE_TYPED_REFERENCE = 0x16,
	TYPE_INT = 0x18,
	TYPE_UINT = 0x19,
	TYPE_FUNCTION = 0x1b,
	TYPE_OBJECT = 0x1c,
	TYPE_VECTOR = 0x1d,
	TYPE_METHOD_VARIABLE = 0x1e,
	TYPE_REQUIRED = 0x1f,
	TYPE_OPTIONAL = 0x20,
	TYPE_ANY_VARIABLE = 0x3b,
	TYPE_NATIVE_VALUE = 0x3d,
	TYPE_CANON = 0x3e,
	TYPE_ELSEWHERE = 0x3f,
	TYPE_SENTINEL = 0x41,
	TYPE_PINNED = 0x45,
};

struct cursor {
	struct native_reader *reader;
	uint32_t at;
	uint32_t left; /* types that may follow */
};

static uint32_t next_byte(struct cursor *c)
{
	return native_read_number(c->reader, c->at++, 1);
}

/* A number of one, two or four bytes, as ECMA-335 II.23.2 has it. */
static uint32_t next_number(struct cursor *c)
{
	uint32_t n = next_byte(c);

	if (!(n & 0x80))
		return n;
	if (!(n & 0x40))
		return (n & 0x3f) << 8 | next_byte(c);
	n = (n & 0x1f) << 8 | next_byte(c);
	n = n << 8 | next_byte(c);
	return n << 8 | next_byte(c);
}

static int skip_type(struct cursor *c, unsigned depth);

static int skip_types(struct cursor *c, uint32_t n, unsigned depth)
{
	int e = n > TYPES_MAX ? -EBADMSG : 0;

	for (uint32_t i = 0; e == 0 && i < n; i++)
		e = skip_type(c, depth);
	return e;
}

static int skip_array(struct cursor *c, unsigned depth)
{
	int e = skip_type(c, depth);

	if (e < 0)
		return e;
	(void)next_number(c); /* rank */
	for (int sizes_then_bounds = 0; sizes_then_bounds < 2; sizes_then_bounds++) {
		uint32_t n = next_number(c);

		if (n > TYPES_MAX)
			return -EBADMSG;
		for (uint32_t i = 0; i < n; i++)
			(void)next_number(c);
	}
	return 0;
}

static int skip_function(struct cursor *c, unsigned depth)
{
	uint32_t convention = next_byte(c);

	if (convention & 0x10)
		(void)next_number(c); /* parameters of a generic one */
	return skip_types(c, next_number(c) + 1, depth);
}

static int skip_generic(struct cursor *c, unsigned depth)
{
	int e = skip_type(c, depth);

	return e < 0 ? e : skip_types(c, next_number(c), depth);
}

static int skip_type(struct cursor *c, unsigned depth)
{
	uint32_t kind = next_byte(c);

	if (c->reader->error < 0 || depth == DEPTH_MAX || c->left-- == 0)
		return -EBADMSG;
	if (kind > 0 && kind <= TYPE_LAST_PLAIN)
		return 0;
	switch (kind) {
	case TYPE_TYPED_REFERENCE:
	case TYPE_INT:
	case TYPE_UINT:
	case TYPE_OBJECT:
	case TYPE_CANON:
		return 0;
	case TYPE_VALUE:
	case TYPE_CLASS:
	case TYPE_VARIABLE:
	case TYPE_METHOD_VARIABLE:
	case TYPE_ANY_VARIABLE:
		(void)next_number(c);
		return 0;
	case TYPE_REQUIRED:
	case TYPE_OPTIONAL:
	case TYPE_ELSEWHERE:
		(void)next_number(c);
		return skip_type(c, depth + 1);
	case TYPE_POINTER:
	case TYPE_REFERENCE:
	case TYPE_VECTOR:
	case TYPE_NATIVE_VALUE:
	case TYPE_SENTINEL:
	case TYPE_PINNED:
		return skip_type(c, depth + 1);
	case TYPE_ARRAY:
		return skip_array(c, depth + 1);
	case TYPE_GENERIC:
		return skip_generic(c, depth + 1);
	case TYPE_FUNCTION:
		return skip_function(c, depth + 1);
	default:
		return -EBADMSG;
	}
}

static int parse(struct cursor *c, struct method_signature *ret)
{
	uint32_t flags = next_number(c);
	int e = 0;

	*ret = (struct method_signature){.member_ref = flags & FLAG_MEMBER_REF};
	if (flags & FLAG_SLOT)
		return -EBADMSG;
	if (flags & FLAG_ELSEWHERE)
		ret->elsewhere = next_number(c) != 0; /* the number of an assembly; 0: its own */
	if (flags & FLAG_OWNER)
		e = skip_type(c, 0);
	ret->row = next_number(c);
	if (e == 0 && flags & FLAG_INSTANCE)
		e = skip_types(c, next_number(c), 0);
	if (e == 0 && flags & FLAG_CONSTRAINED)
		e = skip_type(c, 0);
	return c->reader->error < 0 ? c->reader->error : e;
}

int method_signature_length(struct native_reader *r, uint32_t rva, uint32_t *ret)
{
	struct cursor c = {.reader = r, .at = rva, .left = TYPES_MAX};
	struct method_signature s;
	int e = parse(&c, &s);

	if (e == 0)
		*ret = c.at - rva;
	return e;
}

int method_signature_read(struct native_reader *r, uint32_t rva, struct method_signature *ret)
{
	struct cursor c = {.reader = r, .at = rva, .left = TYPES_MAX};

	return parse(&c, ret);
}
