/*
 * Rows on their way into the store, as frames (store.h). Pure.
 *
 * Rows are encoded into a buffer per table, which becomes a frame whenever it is full, so that a
 * large profile takes little more memory than its rows do compressed. A batch bounds the size of
 * its rows and does not check values.
 *
 * This is the one place that knows the order of columns of an insert; schema.c has the tables.
 *
 * Making a batch is expensive (it owns a compressor) and using one again is not. Not thread-safe; a
 * batch belongs to one thread and may be handed over.
 */
#ifndef CLUSTER_AGENT_STORE_ROW_BATCH_H
#define CLUSTER_AGENT_STORE_ROW_BATCH_H

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/data/arena.h"
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

/* What differs in the sample rows of one profile and type. */
struct sample_value {
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
	uint64_t upload;   /* identifies the upload: see upload_id.h */
	const struct row_count *runtimes; /* programs by runtime and state: "java:profiled" */
	size_t n_runtimes;
	/* samples by end of the walk over their stack, and by binary: "no_table:libc.so.6" */
	const struct row_count *unwinding;
	size_t n_unwinding;
	/* lines at which functions start, by "<name> <file>" */
	const struct row_count *starts;
	size_t n_starts;
	/* those of its samples */
	const struct row_label *labels;
	size_t n_labels;
	uint64_t label_set; /* hash of the labels; 0 is that of rows which do not have them */
};

struct row_batch_table {
	struct buf rows;            /* those that are in no frame yet */
	uint32_t n_rows;            /* in rows */
	uint32_t quarter;           /* of rows; see store.h */
	struct store_frame *frames; /* their data is in row_batch.data */
	size_t n_frames;
	size_t n_places; /* allocated for frames */
};

struct row_batch {
	struct row_batch_table tables[STORE_TABLE_MAX];
	struct ZSTD_CCtx_s *zstd;
	struct buf packed; /* scratch: the frame that is being made */
	struct arena data; /* of frames */
	uint64_t n_packed; /* bytes of all frames */
	uint64_t n_bytes;  /* of all rows, inflated */
	uint64_t max_packed;
	uint64_t max_bytes;
};

#define ROW_BATCH_FRAME_BYTES ((size_t)512 * 1024)
#define ROW_BATCH_FRAME_ROWS 65536u
/* of one row; with the above this bounds a frame */
#define ROW_BATCH_ROW_BYTES ((size_t)16 * 1024 * 1024)

/*
 * max_packed bounds the bytes of all frames together, max_bytes those of all rows. Cannot fail and
 * does not allocate.
 */
void row_batch_init(struct row_batch *b, uint64_t max_packed, uint64_t max_bytes);
void row_batch_fini(struct row_batch *b);
/* Drops all rows. Keeps the compressor and buffers, so that the next use need not allocate. */
void row_batch_clear(struct row_batch *b);

/* Each returns 0, -ENOMEM, or -EFBIG over a limit. On failure the batch has the same rows. */
int row_batch_add_stack(struct row_batch *b, const struct stack_row *row) MUST_CHECK;
int row_batch_add_sample(struct row_batch *b, const struct sample_row *row) MUST_CHECK;
/*
 * A row for each of the values, which replace those of row. On failure some of them may have been
 * added.
 */
int row_batch_add_samples(struct row_batch *b, const struct sample_row *row,
			  const struct sample_value *values, size_t n) MUST_CHECK;
int row_batch_add_quality(struct row_batch *b, const struct quality_row *row) MUST_CHECK;

/* Makes frames of the last rows. Errors as above. */
int row_batch_finish(struct row_batch *b) MUST_CHECK;
/* After row_batch_finish(). Borrowed until the batch changes. */
const struct store_frame *row_batch_frames(const struct row_batch *b, enum store_table table,
					   size_t *ret_n);
/* Sum over all tables, after row_batch_finish(). */
uint64_t row_batch_rows(const struct row_batch *b);

#endif /* CLUSTER_AGENT_STORE_ROW_BATCH_H */
