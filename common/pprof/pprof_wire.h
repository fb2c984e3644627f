/*
 * Protobuf's wire format, as far as the outermost message of a pprof file
 * needs it: read field by field without unpacking the whole, and written. Pure.
 * Source: protobuf.dev/programming-guides/encoding.
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

/* What is left to read. */
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

/* 1 and the next field; 0 at the end; -EBADMSG. */
int wire_read_field(struct wire_reader *r, struct wire_field *ret) MUST_CHECK;

/* 1 and the next value of a packed field; 0 at the end; -EBADMSG. */
int wire_read_varint(struct wire_reader *r, uint64_t *ret) MUST_CHECK;

/* Remembers the first failure; later calls do nothing. */
struct wire_writer {
	struct buf *out; /* borrowed */
	int error;       /* 0; -ENOMEM; -EFBIG */
};

/* Zero is the default of every number and is left out. */
void wire_put_number(struct wire_writer *w, uint32_t field, uint64_t value);
void wire_put_bytes(struct wire_writer *w, uint32_t field, const void *data, size_t len);
/* The head of a WIRE_BYTES field whose len bytes the caller appends next. */
void wire_put_head(struct wire_writer *w, uint32_t field, size_t len);
void wire_put_varint(struct wire_writer *w, uint64_t value);
size_t wire_varint_len(uint64_t value);

#endif /* COMMON_PPROF_PPROF_WIRE_H */
