/*
 * Reads the encodings of DWARF from bytes that are not trusted. A read beyond the end marks the
 * cursor as bad, moves it to the end and yields 0, so that it is enough to check once, at the end.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_CURSOR_H
#define NODE_AGENT_UNWIND_CFI_CFI_CURSOR_H

#include "common/base.h"

struct cfi_cursor {
	const uint8_t *p;
	const uint8_t *end;
	bool bad;
};

static inline size_t cfi_cursor_left(const struct cfi_cursor *c)
{
	return (size_t)(c->end - c->p);
}

static inline void cfi_cursor_fail(struct cfi_cursor *c)
{
	c->p = c->end;
	c->bad = true;
}

/* Points to the next len bytes, and moves past them; NULL if there are fewer. */
static inline const uint8_t *cfi_cursor_take(struct cfi_cursor *c, uint64_t len)
{
	const uint8_t *p = c->p;

	if (len > cfi_cursor_left(c)) {
		cfi_cursor_fail(c);
		return NULL;
	}
	c->p += len;
	return p;
}

/* A little-endian number of at most 8 bytes. */
static inline uint64_t cfi_cursor_fixed(struct cfi_cursor *c, size_t bytes)
{
	const uint8_t *p = cfi_cursor_take(c, bytes);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, bytes);
	return v;
}

static inline int64_t cfi_cursor_signed(struct cfi_cursor *c, size_t bytes)
{
	unsigned unused_bits = 64 - 8 * (unsigned)bytes;

	return (int64_t)(cfi_cursor_fixed(c, bytes) << unused_bits) >> unused_bits;
}

static inline uint8_t cfi_cursor_byte(struct cfi_cursor *c)
{
	if (c->p == c->end) {
		c->bad = true;
		return 0;
	}
	return *c->p++;
}

/* Stores the bits, returns how many there are; at most 10 bytes are read. */
static inline unsigned cfi_cursor_leb(struct cfi_cursor *c, uint64_t *ret, bool *ret_sign)
{
	unsigned shift = 0;
	uint64_t v = 0;
	uint8_t b;

	do {
		b = cfi_cursor_byte(c);
		v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while ((b & 0x80) && shift < 70);
	if (b & 0x80)
		cfi_cursor_fail(c);
	*ret = v;
	*ret_sign = b & 0x40;
	return shift;
}

static inline uint64_t cfi_cursor_uleb(struct cfi_cursor *c)
{
	uint64_t v;
	bool sign;

	cfi_cursor_leb(c, &v, &sign);
	return v;
}

static inline int64_t cfi_cursor_sleb(struct cfi_cursor *c)
{
	uint64_t v;
	bool sign;
	unsigned bits = cfi_cursor_leb(c, &v, &sign);

	if (sign && bits < 64)
		v |= UINT64_MAX << bits;
	return (int64_t)v;
}

/* ---- pointers ---- */

/* Encodings of pointers (LSB Core, "DWARF Extensions"): a format, and what it is relative to. */
#define CFI_POINTER_FORMAT 0x0f
#define CFI_POINTER_ABSOLUTE 0x00
#define CFI_POINTER_PCREL 0x10

/* Size of a pointer of this format; 0: it varies, or the format is unknown. */
static inline size_t cfi_pointer_bytes(uint8_t encoding)
{
	static const uint8_t bytes[] = {8, 0, 2, 4, 8, 0, 0, 0, 8, 0, 2, 4, 8, 0, 0, 0};

	return bytes[encoding & CFI_POINTER_FORMAT];
}

/* A number of the format of this encoding, relative to nothing. */
static inline uint64_t cfi_cursor_number(struct cfi_cursor *c, uint8_t encoding)
{
	uint8_t format = encoding & CFI_POINTER_FORMAT;
	size_t bytes = cfi_pointer_bytes(encoding);

	if (bytes > 0)
		return format & 0x08 ? (uint64_t)cfi_cursor_signed(c, bytes)
				     : cfi_cursor_fixed(c, bytes);
	if (format == 0x01)
		return cfi_cursor_uleb(c);
	if (format == 0x09)
		return (uint64_t)cfi_cursor_sleb(c);
	cfi_cursor_fail(c);
	return 0;
}

/*
 * A pointer to code; vaddr is the address of the cursor. Encodings that are relative to something
 * else, or indirect, are not written for code.
 */
static inline uint64_t cfi_cursor_pointer(struct cfi_cursor *c, uint8_t encoding, uint64_t vaddr)
{
	uint8_t application = encoding & (uint8_t)~CFI_POINTER_FORMAT;
	uint64_t v = cfi_cursor_number(c, encoding);

	if (application == CFI_POINTER_PCREL)
		return v + vaddr;
	if (application != CFI_POINTER_ABSOLUTE)
		cfi_cursor_fail(c);
	return v;
}

#endif /* NODE_AGENT_UNWIND_CFI_CFI_CURSOR_H */
