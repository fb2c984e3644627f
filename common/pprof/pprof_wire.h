/*
 * Protobuf's wire format, as far as the outermost message of a pprof file needs it: reads one
 * field after the other without unpacking the whole message, and writes fields. Pure. Source:
 * protobuf.dev/programming-guides/encoding.
 */
#ifndef COMMON_PPROF_PPROF_WIRE_H
#define COMMON_PPROF_PPROF_WIRE_H

#include "common/base.h"
#include "common/data/buf.h"

/* Fields of perftools.profiles.Profile. */
enum pprof_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING_TABLE = 6,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_FIELD_MAX,
};

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

/* The bytes that are not read yet. */
struct wire_reader {
	const uint8_t *p;
	const uint8_t *end;
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;      /* of WIRE_VARINT */
	const uint8_t *data; /* of WIRE_BYTES, borrowed from the reader's bytes */
	size_t len;
};

/* Returns 1 and the next field, 0 at the end, or -EBADMSG. */
int wire_reader_read_field(struct wire_reader *r, struct wire_field *ret) MUST_CHECK;

/* The general case of wire_reader_read_varint(). */
int wire_reader_read_long_varint(struct wire_reader *r, uint64_t *ret) MUST_CHECK;

/*
 * Returns 1 and the next value of a packed field, 0 at the end, or -EBADMSG. Most bytes of a
 * profile are varints of one or two bytes.
 */
MUST_CHECK static inline int wire_reader_read_varint(struct wire_reader *r, uint64_t *ret)
{
	const uint8_t *p = r->p;

	if (p < r->end && p[0] < 0x80) {
		*ret = p[0];
		r->p = p + 1;
		return 1;
	}
	if (r->end - p >= 2 && p[1] < 0x80) {
		*ret = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
		r->p = p + 2;
		return 1;
	}
	return wire_reader_read_long_varint(r, ret);
}

/* Remembers the first failure; later calls do nothing. */
struct wire_writer {
	struct buf *out; /* borrowed */
	int error;       /* 0, -ENOMEM or -EFBIG */
};

/* Writes nothing if value is 0, the default of every number. */
void wire_writer_put_number(struct wire_writer *w, uint32_t field, uint64_t value);
void wire_writer_put_bytes(struct wire_writer *w, uint32_t field, const void *data, size_t len);
/* Writes tag and length of a WIRE_BYTES field; the caller appends the len bytes. */
void wire_writer_put_head(struct wire_writer *w, uint32_t field, size_t len);
void wire_writer_put_varint(struct wire_writer *w, uint64_t value);
size_t wire_varint_len(uint64_t value);

#endif /* COMMON_PPROF_PPROF_WIRE_H */
