/*
 * Reads the numbers and texts of a recording, through a window of memory.
 *
 * The first failure is remembered: later reads return zeros and the position stays, so that callers
 * check error once per record. Nothing is read at or beyond limit.
 */
#ifndef COMMON_JFR_JFR_READER_H
#define COMMON_JFR_JFR_READER_H

#include "common/base.h"
#include "common/jfr/jfr_stacks.h"

#define JFR_WINDOW_BYTES ((size_t)256 << 10)
/* Longer texts are truncated. */
#define JFR_TEXT_MAX_BYTES 1024u

struct jfr_reader {
	const struct jfr_source *source; /* borrowed */
	uint8_t *window;                 /* borrowed, JFR_WINDOW_BYTES */
	uint64_t window_at;              /* offset of its first byte in the recording */
	const uint8_t *p;                /* next byte */
	const uint8_t *end;              /* of what may be read without refilling */
	size_t filled;                   /* bytes in the window */
	uint64_t limit;                  /* offset */
	bool compressed;                 /* integers are LEB128 */
	int error;                       /* 0, -EBADMSG, or an error of source */
};

enum jfr_text_kind {
	JFR_TEXT_NULL,
	JFR_TEXT_INLINE,
	JFR_TEXT_REFERENCE, /* to the constant pool of java.lang.String */
};

struct jfr_text {
	enum jfr_text_kind kind;
	uint64_t reference;
	size_t len;
	char text[JFR_TEXT_MAX_BYTES + 1]; /* NUL-terminated; any bytes */
};

void jfr_reader_init(struct jfr_reader *r, const struct jfr_source *source, uint8_t *window);

/* Offset of the next byte. */
static inline uint64_t jfr_reader_tell(const struct jfr_reader *r)
{
	return r->window_at + (uint64_t)(r->p - r->window);
}

/* Continues at offset, and sets limit. An offset beyond limit fails at the next read. */
void jfr_reader_seek(struct jfr_reader *r, uint64_t offset, uint64_t limit);
void jfr_reader_skip(struct jfr_reader *r, uint64_t n_bytes);
/* Sets the error unless there is one. */
void jfr_reader_fail(struct jfr_reader *r, int error);

/* Big endian, of n bytes, whether or not integers are compressed. */
uint64_t jfr_reader_raw(struct jfr_reader *r, size_t n);

/* The general case of jfr_reader_varint(). */
uint64_t jfr_reader_long_varint(struct jfr_reader *r);

/* LEB128 whose ninth byte has eight bits. */
static inline uint64_t jfr_reader_varint(struct jfr_reader *r)
{
	const uint8_t *p = r->p;

	if (r->end - p >= 3) {
		if (p[0] < 0x80) {
			r->p = p + 1;
			return p[0];
		}
		if (p[1] < 0x80) {
			r->p = p + 2;
			return (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
		}
		if (p[2] < 0x80) {
			r->p = p + 3;
			return (uint64_t)(p[0] & 0x7f) | (uint64_t)(p[1] & 0x7f) << 7 |
			       (uint64_t)p[2] << 14;
		}
	}
	return jfr_reader_long_varint(r);
}

/* A char, short, int or long as the recording has them; plain_bytes: its size uncompressed. */
static inline uint64_t jfr_reader_integer(struct jfr_reader *r, size_t plain_bytes)
{
	return r->compressed ? jfr_reader_varint(r) : jfr_reader_raw(r, plain_bytes);
}

/* Counts, lengths and sizes: ints of which negative ones fail. */
uint32_t jfr_reader_count(struct jfr_reader *r);

static inline uint64_t jfr_reader_long(struct jfr_reader *r)
{
	return jfr_reader_integer(r, 8);
}

/* Skips n compressed integers. */
void jfr_reader_skip_varints(struct jfr_reader *r, uint64_t n);

/* A java.lang.String in any encoding. ret may be NULL to skip it. */
void jfr_reader_text(struct jfr_reader *r, struct jfr_text *ret);

#endif /* COMMON_JFR_JFR_READER_H */
