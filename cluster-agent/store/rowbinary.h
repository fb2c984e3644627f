/*
 * ClickHouse's RowBinary format, both directions. Pure.
 *
 * Little-endian fixed-width numbers; String = varint length + bytes; Array = varint count + items;
 * Map = varint count + key, value pairs; DateTime64(9) = Int64 nanoseconds; LowCardinality(T) is
 * written as T; Nullable(T) = one byte (1: null) + T unless null. Rows follow each other without
 * separators, so batches of rows concatenate.
 * Source: ClickHouse's documentation of the format RowBinary.
 *
 * Reader and writer keep their first error and do nothing after it, so the caller checks once, at
 * the end.
 */
#ifndef CLUSTER_AGENT_STORE_ROWBINARY_H
#define CLUSTER_AGENT_STORE_ROWBINARY_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"

struct rowbinary_writer {
	struct buf *out; /* borrowed */
	int error;
};

/* Cannot fail. Appends to out, whose limit is the limit of the writer. */
void rowbinary_writer_init(struct rowbinary_writer *w, struct buf *out);
void rowbinary_put_u8(struct rowbinary_writer *w, uint8_t v);
void rowbinary_put_u64(struct rowbinary_writer *w, uint64_t v);
/* Int64 and DateTime64(9) */
void rowbinary_put_i64(struct rowbinary_writer *w, int64_t v);
/* Number of items of an Array, or of pairs of a Map; the caller writes the items next. */
void rowbinary_put_count(struct rowbinary_writer *w, uint64_t n);
void rowbinary_put_string(struct rowbinary_writer *w, const char *s, size_t len);
/* Returns 0, or the first error: -ENOMEM or -EFBIG. */
int rowbinary_writer_finish(const struct rowbinary_writer *w) MUST_CHECK;

struct rowbinary_reader {
	const uint8_t *pos;
	const uint8_t *end;
	int error;
};

/* Borrows data until the last read. After an error every read returns 0 or "". */
void rowbinary_reader_init(struct rowbinary_reader *r, const void *data, size_t len);
uint8_t rowbinary_get_u8(struct rowbinary_reader *r);
uint32_t rowbinary_get_u32(struct rowbinary_reader *r);
uint64_t rowbinary_get_u64(struct rowbinary_reader *r);
int64_t rowbinary_get_i64(struct rowbinary_reader *r);
double rowbinary_get_f64(struct rowbinary_reader *r);
/* Never returns more than the bytes that are left, as no item is smaller than a byte. */
uint64_t rowbinary_get_count(struct rowbinary_reader *r);
/* The text is borrowed from data and not NUL-terminated. */
const char *rowbinary_get_string(struct rowbinary_reader *r, size_t *ret_len);
/* A copy of it in the arena, with a NUL. NULL if there is no room. */
const char *rowbinary_take_string(struct rowbinary_reader *r, struct arena *a);
/* True if there was no error and bytes are left: another row begins here. */
bool rowbinary_has_more(const struct rowbinary_reader *r);
/* Returns 0, or -EBADMSG if data ended inside a value or a length exceeds the data. */
int rowbinary_reader_finish(const struct rowbinary_reader *r) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_ROWBINARY_H */
