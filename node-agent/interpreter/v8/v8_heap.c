#include "node-agent/interpreter/v8/v8_heap.h"

#include <errno.h>

#include "common/text/utf8.h"

#define MAP_TYPE 12u /* 16 bits */
#define STRING_LENGTH 12u
#define STRING_FIRST 16u /* the characters, or another string */
#define STRING_SECOND 24u
#define STRING_KIND_MASK 7u
#define STRING_ONE_BYTE 8u
#define STRING_UNCACHED 16u /* where the characters are is not known */
#define PARTS_MAX 32u       /* of a string that is put together */
#define HOPS_MAX 64u
#define CHARACTERS_MAX (1u << 30)

enum string_kind { SEQUENTIAL, CONS, EXTERNAL, SLICED, THIN = 5 };

int v8_read(struct v8_heap *h, uint64_t at, void *to, size_t n)
{
	int r;

	if (++h->n_reads > V8_READS_MAX)
		return -EBADMSG;
	r = interpreter_read(h->memory, at, to, n);
	h->is_gone |= r == -ESRCH;
	return r;
}

uint64_t v8_word(struct v8_heap *h, uint64_t object, unsigned offset)
{
	uint64_t word;

	if (!v8_is_object(object) ||
	    v8_read(h, (object & ~V8_TAGS) + offset, &word, sizeof(word)) < 0)
		return 0;
	return word;
}

uint16_t v8_type(struct v8_heap *h, uint64_t object)
{
	uint64_t map = v8_word(h, object, 0);
	uint16_t type;

	if (!v8_is_object(map) || v8_read(h, (map & ~V8_TAGS) + MAP_TYPE, &type, sizeof(type)) < 0)
		return V8_NO_TYPE;
	return type;
}

bool v8_is_string_type(const struct v8_heap *h, uint16_t type)
{
	return type != V8_NO_TYPE && (type & h->layout->string_mask) == 0;
}

uint32_t v8_length(struct v8_heap *h, uint64_t array, uint32_t max)
{
	uint64_t word = v8_word(h, array, V8_ARRAY_LENGTH);

	return v8_is_integer(word) && v8_integer(word) > 0 && word >> 32 <= max
		       ? (uint32_t)(word >> 32)
		       : 0;
}

/* ---- strings ---- */

/* Reads the type and length. Returns false if it is no string. */
static bool read_head(struct v8_heap *h, uint64_t string, uint16_t *type, uint32_t *length)
{
	*type = v8_type(h, string);
	if (!v8_is_string_type(h, *type) ||
	    v8_read(h, (string & ~V8_TAGS) + STRING_LENGTH, length, sizeof(*length)) < 0)
		return false;
	return *length < CHARACTERS_MAX;
}

/* Of one with its own characters. */
static bool find_characters(struct v8_heap *h, uint64_t string, uint16_t type, struct v8_text *ret)
{
	ret->wide = !(type & STRING_ONE_BYTE);
	ret->at = (string & ~V8_TAGS) + STRING_FIRST;
	if ((type & STRING_KIND_MASK) == SEQUENTIAL)
		return true;
	if ((type & STRING_KIND_MASK) != EXTERNAL || type & STRING_UNCACHED)
		return false;
	ret->at = v8_word(h, string, STRING_SECOND);
	return ret->at != 0;
}

int v8_text_find(struct v8_heap *h, uint64_t string, struct v8_text *ret)
{
	uint32_t length, first = 0;
	uint16_t type;

	*ret = (struct v8_text){0};
	if (!read_head(h, string, &type, &ret->length))
		return -EBADMSG;
	for (unsigned i = 0; i < HOPS_MAX; i++) {
		switch (type & STRING_KIND_MASK) {
		case SLICED:
			first += (uint32_t)v8_integer(v8_word(h, string, STRING_SECOND));
			break;
		case CONS: /* once it is flat, the second part is empty */
			if (!read_head(h, v8_word(h, string, STRING_SECOND), &type, &length) ||
			    length != 0)
				return -EBADMSG;
			break;
		case THIN:
			break;
		default:
			if (!read_head(h, string, &type, &length) || first > length ||
			    ret->length > length - first || !find_characters(h, string, type, ret))
				return -EBADMSG;
			ret->at += (uint64_t)first << ret->wide;
			return 0;
		}
		string = v8_word(h, string, STRING_FIRST);
		if (!read_head(h, string, &type, &length))
			return -EBADMSG;
	}
	return -EBADMSG;
}

struct writer {
	char *to;
	size_t len, cap; /* with room for the 0 */
};

static void put(struct writer *w, uint32_t c)
{
	char bytes[4];
	size_t n = 0;

	if (c < 0x80) {
		bytes[n++] = (char)c;
	} else if (c < 0x800) {
		bytes[n++] = (char)(0xc0 | c >> 6);
		bytes[n++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		bytes[n++] = (char)(0xe0 | c >> 12);
		bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		bytes[n++] = (char)(0xf0 | c >> 18);
		bytes[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[n++] = (char)(0x80 | (c & 0x3f));
	}
	if (w->len + n >= w->cap) {
		w->cap = w->len + 1; /* nothing that follows fits */
		return;
	}
	memcpy(w->to + w->len, bytes, n);
	w->len += n;
}

#define PIECE 256u

static int put_text(struct v8_heap *h, struct writer *w, const struct v8_text *text)
{
	uint32_t high = 0;

	for (uint32_t i = 0; i < text->length && w->len + 1 < w->cap; i += PIECE) {
		uint16_t wide[PIECE];
		uint8_t narrow[PIECE];
		uint32_t n = text->length - i < PIECE ? text->length - i : PIECE;
		int r = text->wide ? v8_read(h, text->at + i * 2ULL, wide, n * sizeof(*wide))
				   : v8_read(h, text->at + i, narrow, n);

		if (r < 0)
			return r;
		for (uint32_t k = 0; k < n; k++) {
			uint32_t c = text->wide ? wide[k] : narrow[k];

			if (c >= 0xd800 && c < 0xdc00) {
				high = c;
				continue;
			}
			if (high != 0 && c >= 0xdc00 && c < 0xe000)
				c = 0x10000 + ((high - 0xd800) << 10) + (c - 0xdc00);
			high = 0;
			put(w, c);
		}
	}
	return 0;
}

/* The parts of a string that is put together are read from the first to the last. */
static int put_string(struct v8_heap *h, struct writer *w, uint64_t string)
{
	uint64_t parts[PARTS_MAX] = {string};
	unsigned n = 1;

	for (unsigned i = 0; n > 0 && i < 4 * PARTS_MAX && w->len + 1 < w->cap; i++) {
		struct v8_text text;
		int r;

		string = parts[--n];
		r = v8_text_find(h, string, &text);
		if (r == 0)
			r = put_text(h, w, &text);
		else if (n + 2 <= PARTS_MAX && (v8_type(h, string) & STRING_KIND_MASK) == CONS &&
			 v8_is_string_type(h, v8_type(h, string))) {
			parts[n++] = v8_word(h, string, STRING_SECOND);
			parts[n++] = v8_word(h, string, STRING_FIRST);
			r = 0;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int v8_string_read(struct v8_heap *h, uint64_t string, char *to, size_t cap)
{
	struct writer w = {.to = to, .cap = cap};
	int r = put_string(h, &w, string);

	to[r < 0 ? 0 : w.len] = '\0';
	to[utf8_make_printable(to, strlen(to))] = '\0';
	return r;
}

/* ---- numbers ---- */

void v8_numbers_begin(struct v8_numbers *n, struct v8_heap *h, uint64_t array)
{
	*n = (struct v8_numbers){
		.heap = h,
		.at = (array & ~V8_TAGS) + V8_ARRAY_DATA,
		.n_left = v8_length(h, array, V8_NUMBERS_MAX),
	};
}

static bool next_byte(struct v8_numbers *n, uint8_t *ret)
{
	if (n->i == n->n) {
		n->i = 0;
		n->n = n->n_left < sizeof(n->bytes) ? n->n_left : (uint32_t)sizeof(n->bytes);
		if (n->n == 0 || v8_read(n->heap, n->at, n->bytes, n->n) < 0) {
			n->n = n->n_left = 0;
			return false;
		}
		n->at += n->n;
		n->n_left -= n->n;
	}
	*ret = n->bytes[n->i++];
	return true;
}

bool v8_numbers_next(struct v8_numbers *n, uint64_t *ret)
{
	uint8_t byte = 0x80;

	*ret = 0;
	for (unsigned shift = 0; byte & 0x80; shift += 7) {
		if (shift > 63 || !next_byte(n, &byte))
			return false;
		*ret |= (uint64_t)(byte & 0x7f) << shift;
	}
	return true;
}
