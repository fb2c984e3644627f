/*
 * Rows on their way into the store: one RowBinary buffer per table. Pure.
 *
 * The one place that knows the order of columns of an insert; the tables themselves are in
 * schema.c. Whoever fills a batch vouches for the values; the batch only bounds their size.
 * Not thread-safe; a batch belongs to one thread at a time.
 */
#ifndef CLUSTER_AGENT_STORE_ROW_BATCH_H
#define CLUSTER_AGENT_STORE_ROW_BATCH_H

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/data/buf.h"

struct row_text {
	const char *data; /* not NUL-terminated; may be NULL when len is 0 */
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
	int64_t value;                /* of all its samples together */
	const struct row_count *lost; /* by reason */
	size_t n_lost;
	uint64_t instance; /* a hash: what of the service this is of; 0: not known */
};

struct row_batch {
	struct buf rows[STORE_TABLE_MAX];
	uint64_t n_rows[STORE_TABLE_MAX];
};

/* limit_bytes is per table. Cannot fail and does not allocate. */
void row_batch_init(struct row_batch *b, size_t limit_bytes);
void row_batch_fini(struct row_batch *b);

/* All: 0; -ENOMEM; -EFBIG over the limit. On failure the batch is unchanged. */
int row_batch_add_stack(struct row_batch *b, const struct stack_row *row) MUST_CHECK;
int row_batch_add_sample(struct row_batch *b, const struct sample_row *row) MUST_CHECK;
int row_batch_add_quality(struct row_batch *b, const struct quality_row *row) MUST_CHECK;
/* Copies all rows of src behind those of b. */
int row_batch_append(struct row_batch *b, const struct row_batch *src) MUST_CHECK;

/* Of all tables together. */
size_t row_batch_bytes(const struct row_batch *b);
uint64_t row_batch_rows(const struct row_batch *b);

#endif /* CLUSTER_AGENT_STORE_ROW_BATCH_H */
