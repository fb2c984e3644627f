/*
 * Rows on their way into the store: one RowBinary buffer per table. Pure.
 *
 * This is the one place that knows the order of columns of an insert; schema.c has the tables. A
 * batch bounds the size of its rows and does not check values.
 * Not thread-safe; a batch belongs to one thread and may be handed over.
 */
#ifndef CLUSTER_AGENT_STORE_ROW_BATCH_H
#define CLUSTER_AGENT_STORE_ROW_BATCH_H

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/data/buf.h"

struct row_text {
	const char *data; /* not NUL-terminated; may be NULL if len is 0 */
	size_t len;
};

struct row_label {
	struct row_text name;
	struct row_text value;
};

struct row_count {
	struct row_text name;
	uint64_t count;
};

/* profiling_stacks */
struct stack_row {
	struct row_text service;
	uint64_t hash;                 /* FNV-1a 64 over the frames, without separator */
	int64_t last_seen_ns;          /* since the epoch, as all times here */
	const struct row_text *frames; /* leaf first, "name file:line" */
	size_t n_frames;
};

/* profiling_samples */
struct sample_row {
	struct row_text service;
	struct row_text type;
	int64_t start_ns;
	int64_t end_ns;
	const struct row_label *labels;
	size_t n_labels;
	uint64_t stack_hash;
	int64_t value;
};

/* profiling_quality: one per uploaded profile and type */
struct quality_row {
	struct row_text service;
	struct row_text type;
	int64_t start_ns;
	int64_t end_ns;
	struct row_text host;
	uint64_t n_samples;
	uint64_t n_truncated;
	int64_t value;                /* sum over its samples */
	const struct row_count *lost; /* samples lost, by reason */
	size_t n_lost;
	uint64_t instance; /* hash that identifies an instance of the service; 0: unknown */
};

struct row_batch {
	struct buf rows[STORE_TABLE_MAX];
	uint64_t n_rows[STORE_TABLE_MAX];
};

/* limit_bytes is per table. Cannot fail and does not allocate. */
void row_batch_init(struct row_batch *b, size_t limit_bytes);
void row_batch_fini(struct row_batch *b);

/* Each returns 0, -ENOMEM, or -EFBIG over the limit. On failure the batch is unchanged. */
int row_batch_add_stack(struct row_batch *b, const struct stack_row *row) MUST_CHECK;
int row_batch_add_sample(struct row_batch *b, const struct sample_row *row) MUST_CHECK;
int row_batch_add_quality(struct row_batch *b, const struct quality_row *row) MUST_CHECK;
/* Appends copies of all rows of src. */
int row_batch_append(struct row_batch *b, const struct row_batch *src) MUST_CHECK;

/* Sums over all tables. */
size_t row_batch_bytes(const struct row_batch *b);
uint64_t row_batch_rows(const struct row_batch *b);

#endif /* CLUSTER_AGENT_STORE_ROW_BATCH_H */
