/*
 * Long columns of numbers as bytes after a JSON text, for readers that would take longer to parse
 * them than to use them ("format=columns" in docs/api.md). All numbers are little-endian:
 *
 *   8 bytes   "columns1"
 *   4 bytes   length of the JSON
 *   4 bytes   0
 *   the JSON, in which {"at":…,"type":"i32"|"f64","n":…} stands for each column
 *   the columns; "at" counts from the first multiple of 8 behind the JSON, and is one itself
 *
 * Pure.
 */
#ifndef COMMON_FLAME_COLUMN_BLOCK_H
#define COMMON_FLAME_COLUMN_BLOCK_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/text/json_writer.h"

#define COLUMN_BLOCK_MAX 32u

/* Numbers of a column; they stay where they are until the block is finished. */
struct column {
	const void *first;
	size_t stride; /* bytes from one to the next */
	uint32_t n;
	bool is_wide; /* int64_t, written as f64; otherwise uint32_t below 2^31, written as i32 */
};

struct column_block {
	struct column columns[COLUMN_BLOCK_MAX];
	uint32_t n_columns;
	size_t n_bytes; /* of the columns, with their padding */
	size_t begin;   /* of the block in the buf */
};

/* The JSON is then written to out. Returns 0, -ENOMEM or -EFBIG. */
int column_block_begin(struct column_block *b, struct buf *out) MUST_CHECK;

/* Writes what stands for the column as the value of a key. There must be room for it. */
void column_block_put(struct column_block *b, struct json_writer *w, const struct column *c);

/* Behind the JSON. Returns 0, -ENOMEM or -EFBIG. */
int column_block_finish(struct column_block *b, struct buf *out) MUST_CHECK;

#endif /* COMMON_FLAME_COLUMN_BLOCK_H */
