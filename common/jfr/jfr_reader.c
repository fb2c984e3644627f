/*
 * A recording is read mostly forward, piece by piece of a window's size. Constant pools are chained
 * from the last one back to the first, so a step back refills the window with what is before the
 * position rather than behind it: otherwise a chain of many small pools would read a whole window
 * for each.
 */
#include "common/jfr/jfr_reader.h"

#include <endian.h>
#include <errno.h>

#define BACK_BYTES (JFR_WINDOW_BYTES / 4 * 3)

void jfr_reader_init(struct jfr_reader *r, const struct jfr_source *source, uint8_t *window)
{
	*r = (struct jfr_reader){
		.source = source,
		.window = window,
		.p = window,
		.end = window,
		.limit = source->size_bytes,
		.compressed = true,
	};
}

void jfr_reader_fail(struct jfr_reader *r, int error)
{
	if (r->error == 0)
		r->error = error;
	/* nothing more is read */
	r->end = r->p;
}

/* Fills the window from at on. */
static void fill(struct jfr_reader *r, uint64_t at, uint64_t position)
{
	size_t len = 0;
	uint64_t left = r->source->size_bytes > at ? r->source->size_bytes - at : 0;
	size_t want = left < JFR_WINDOW_BYTES ? (size_t)left : JFR_WINDOW_BYTES;

	while (len < want) {
		ssize_t n = r->source->read(r->source->ctx, r->window + len, want - len, at + len);

		if (n == -EINTR)
			continue;
		if (n < 0) {
			jfr_reader_fail(r, (int)n);
			break;
		}
		if (n == 0 || (size_t)n > want - len)
			break;
		len += (size_t)n;
	}
	r->window_at = at;
	r->filled = len;
	r->p = r->window + (position - at);
	r->end = r->p;
}

/* Sets end to what of the window may be read. */
static void bound(struct jfr_reader *r)
{
	uint64_t filled_end = r->window_at + r->filled;
	uint64_t end = filled_end < r->limit ? filled_end : r->limit;
	uint64_t at = jfr_reader_tell(r);

	r->end = r->error == 0 && end > at ? r->window + (end - r->window_at) : r->p;
}

void jfr_reader_seek(struct jfr_reader *r, uint64_t offset, uint64_t limit)
{
	r->limit = limit < r->source->size_bytes ? limit : r->source->size_bytes;
	if (r->error != 0)
		return;
	if (offset >= r->window_at && offset <= r->window_at + r->filled) {
		r->p = r->window + (offset - r->window_at);
	} else if (offset >= r->limit) {
		/* an empty window there: the next read fails */
		r->window_at = offset;
		r->filled = 0;
		r->p = r->window;
	} else if (offset < r->window_at) {
		fill(r, offset > BACK_BYTES ? offset - BACK_BYTES : 0, offset);
	} else {
		fill(r, offset, offset);
	}
	bound(r);
}

/* Makes at least one byte readable at p. Returns false if there is none. */
static bool refill(struct jfr_reader *r)
{
	uint64_t at = jfr_reader_tell(r);

	if (r->error != 0)
		return false;
	if (at >= r->limit) {
		jfr_reader_fail(r, -EBADMSG);
		return false;
	}
	fill(r, at, at);
	bound(r);
	if (r->p == r->end)
		jfr_reader_fail(r, -EBADMSG); /* the file is shorter than its size said */
	return r->p < r->end;
}

static uint8_t next_byte(struct jfr_reader *r)
{
	if (r->p == r->end && !refill(r))
		return 0;
	return *r->p++;
}

void jfr_reader_skip(struct jfr_reader *r, uint64_t n_bytes)
{
	uint64_t at = jfr_reader_tell(r);

	if (n_bytes <= (uint64_t)(r->end - r->p)) {
		r->p += n_bytes;
		return;
	}
	if (r->error == 0 && (at > r->limit || n_bytes > r->limit - at))
		jfr_reader_fail(r, -EBADMSG);
	if (r->error == 0)
		jfr_reader_seek(r, at + n_bytes, r->limit);
}

uint64_t jfr_reader_raw(struct jfr_reader *r, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value = value << 8 | next_byte(r);
	return r->error == 0 ? value : 0;
}

uint64_t jfr_reader_long_varint(struct jfr_reader *r)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 8; i++) {
		uint8_t b = next_byte(r);

		value |= (uint64_t)(b & 0x7f) << (7 * i);
		if (b < 0x80)
			return r->error == 0 ? value : 0;
	}
	value |= (uint64_t)next_byte(r) << 56;
	return r->error == 0 ? value : 0;
}

/*
 * Eight bytes at a time: those without the high bit end an integer. It starts at the beginning of
 * one each time, so one of nine bytes, whose last may have any value, is met as a whole.
 */
void jfr_reader_skip_varints(struct jfr_reader *r, uint64_t n)
{
	while (n > 0 && r->error == 0) {
		uint64_t ends = 0;

		if (n >= 8 && r->end - r->p >= 8) {
			memcpy(&ends, r->p, sizeof(ends));
			ends = ~le64toh(ends) & UINT64_C(0x8080808080808080);
		}
		if (ends == 0) {
			(void)jfr_reader_varint(r);
			n--;
			continue;
		}
		r->p += 8 - __builtin_clzll(ends) / 8;
		n -= (uint64_t)__builtin_popcountll(ends);
	}
}

uint32_t jfr_reader_count(struct jfr_reader *r)
{
	uint64_t n = jfr_reader_integer(r, 4);

	if (n > INT32_MAX) {
		jfr_reader_fail(r, -EBADMSG);
		return 0;
	}
	return (uint32_t)n;
}

/* Appends a character as UTF-8, if it fits. */
static void put_char(struct jfr_text *t, uint32_t c)
{
	char bytes[3];
	size_t n;

	if (c < 0x80) {
		bytes[0] = (char)c;
		n = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		bytes[1] = (char)(0x80 | (c & 0x3f));
		n = 2;
	} else {
		bytes[0] = (char)(0xe0 | c >> 12);
		bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (c & 0x3f));
		n = 3;
	}
	if (n > JFR_TEXT_MAX_BYTES - t->len)
		return;
	memcpy(t->text + t->len, bytes, n);
	t->len += n;
}

static void read_bytes(struct jfr_reader *r, struct jfr_text *ret, uint32_t len)
{
	size_t keep = len < JFR_TEXT_MAX_BYTES ? len : JFR_TEXT_MAX_BYTES;

	if (!ret) {
		jfr_reader_skip(r, len);
		return;
	}
	while (ret->len < keep) {
		size_t n = keep - ret->len;

		if (r->p == r->end && !refill(r))
			return;
		if (n > (size_t)(r->end - r->p))
			n = (size_t)(r->end - r->p);
		memcpy(ret->text + ret->len, r->p, n);
		r->p += n;
		ret->len += n;
	}
	jfr_reader_skip(r, len - keep);
}

static void read_latin1(struct jfr_reader *r, struct jfr_text *ret, uint32_t len)
{
	if (!ret) {
		jfr_reader_skip(r, len);
		return;
	}
	for (uint32_t i = 0; i < len && r->error == 0; i++)
		put_char(ret, next_byte(r));
}

static void read_chars(struct jfr_reader *r, struct jfr_text *ret, uint32_t len)
{
	for (uint32_t i = 0; i < len && r->error == 0; i++) {
		uint32_t c = (uint16_t)jfr_reader_integer(r, 2);

		if (ret)
			put_char(ret, c);
	}
}

void jfr_reader_text(struct jfr_reader *r, struct jfr_text *ret)
{
	enum { NULL_TEXT, EMPTY, CONSTANT_POOL, UTF8, CHARS, LATIN1 };
	uint8_t encoding = next_byte(r);
	uint64_t reference;

	if (ret) {
		ret->kind = encoding == NULL_TEXT ? JFR_TEXT_NULL : JFR_TEXT_INLINE;
		ret->len = 0;
	}
	switch (encoding) {
	case NULL_TEXT:
	case EMPTY:
		break;
	case CONSTANT_POOL:
		reference = jfr_reader_long(r);
		if (ret) {
			ret->kind = JFR_TEXT_REFERENCE;
			ret->reference = reference;
		}
		break;
	case UTF8:
		read_bytes(r, ret, jfr_reader_count(r));
		break;
	case CHARS:
		read_chars(r, ret, jfr_reader_count(r));
		break;
	case LATIN1:
		read_latin1(r, ret, jfr_reader_count(r));
		break;
	default:
		jfr_reader_fail(r, -EBADMSG);
	}
	if (ret)
		ret->text[ret->len] = '\0';
}
