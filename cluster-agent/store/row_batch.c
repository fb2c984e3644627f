#include "cluster-agent/store/row_batch.h"

#include <endian.h>
#include <errno.h>

#include <zstd.h>

#include "cluster-agent/store/rowbinary.h"
#include "common/data/array.h"
#include "common/system/clock.h"

/* Frames are a fifth smaller than at level -1 for the same time; level 3 would gain 1 %. */
#define LEVEL 1
/* What row_batch_clear() keeps of a buffer. */
#define KEEP_BYTES (2 * ROW_BATCH_FRAME_BYTES)

void row_batch_init(struct row_batch *b, uint64_t max_packed, uint64_t max_bytes)
{
	*b = (struct row_batch){.max_packed = max_packed, .max_bytes = max_bytes};
	for (size_t i = 0; i < STORE_TABLE_MAX; i++)
		buf_init(&b->tables[i].rows, ROW_BATCH_FRAME_BYTES + ROW_BATCH_ROW_BYTES);
	buf_init(&b->packed, SIZE_MAX);
	arena_init(&b->data, SIZE_MAX);
}

static void empty(struct buf *buf)
{
	if (buf->cap > KEEP_BYTES)
		buf_fini(buf);
	buf->len = 0;
}

void row_batch_clear(struct row_batch *b)
{
	for (size_t i = 0; i < STORE_TABLE_MAX; i++) {
		struct row_batch_table *t = &b->tables[i];

		t->n_frames = 0;
		t->n_rows = 0;
		empty(&t->rows);
	}
	empty(&b->packed);
	arena_clear(&b->data);
	b->n_packed = 0;
	b->n_bytes = 0;
}

void row_batch_fini(struct row_batch *b)
{
	row_batch_clear(b);
	for (size_t i = 0; i < STORE_TABLE_MAX; i++) {
		struct row_batch_table *t = &b->tables[i];

		buf_fini(&t->rows);
		free(t->frames);
		t->frames = NULL;
		t->n_places = 0;
	}
	buf_fini(&b->packed);
	arena_fini(&b->data);
	ZSTD_freeCCtx(b->zstd);
	b->zstd = NULL;
}

/* ---- frames ---- */

static struct store_frame *add_frame(struct row_batch_table *t)
{
	if (ARRAY_RESERVE(t->frames, t->n_places, t->n_frames + 1) < 0)
		return NULL;
	return &t->frames[t->n_frames];
}

static int make_compressor(struct row_batch *b)
{
	if (b->zstd)
		return 0;
	b->zstd = ZSTD_createCCtx();
	return b->zstd ? 0 : -ENOMEM;
}

/* Makes a frame of the table's rows. */
static int pack(struct row_batch *b, struct row_batch_table *t)
{
	struct store_frame *frame = add_frame(t);
	int r = make_compressor(b);
	char *data;
	size_t n;

	if (!frame || r < 0)
		return -ENOMEM;
	b->packed.len = 0;
	r = buf_reserve(&b->packed, ZSTD_compressBound(t->rows.len));
	if (r < 0)
		return r;
	n = ZSTD_compressCCtx(b->zstd, b->packed.data, b->packed.cap, t->rows.data, t->rows.len,
			      LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM;
	if (b->n_packed + n > b->max_packed)
		return -EFBIG;
	data = arena_alloc(&b->data, n);
	if (!data)
		return -ENOMEM;
	memcpy(data, b->packed.data, n);
	*frame = (struct store_frame){
		.data = data,
		.len = n,
		.n_rows = t->n_rows,
		.n_bytes = (uint32_t)t->rows.len,
		.quarter = t->quarter,
	};
	t->n_frames++;
	t->n_rows = 0;
	t->rows.len = 0;
	b->n_packed += n;
	return 0;
}

int row_batch_finish(struct row_batch *b)
{
	int r = 0;

	for (size_t i = 0; i < STORE_TABLE_MAX && r == 0; i++) {
		if (b->tables[i].rows.len > 0)
			r = pack(b, &b->tables[i]);
	}
	return r;
}

const struct store_frame *row_batch_frames(const struct row_batch *b, enum store_table table,
					   size_t *ret_n)
{
	*ret_n = b->tables[table].n_frames;
	return b->tables[table].frames;
}

uint64_t row_batch_rows(const struct row_batch *b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < STORE_TABLE_MAX; i++) {
		for (size_t f = 0; f < b->tables[i].n_frames; f++)
			n += b->tables[i].frames[f].n_rows;
	}
	return n;
}

/* ---- rows ---- */

/* A row that is being written. */
struct row {
	struct row_batch *batch;
	struct row_batch_table *table;
	size_t old_len;
	struct rowbinary_writer w;
};

static bool is_full(const struct row_batch_table *t)
{
	return t->rows.len >= ROW_BATCH_FRAME_BYTES || t->n_rows >= ROW_BATCH_FRAME_ROWS;
}

/* time_ns decides about the partition. */
static int begin_row(struct row *row, struct row_batch *b, enum store_table table, int64_t time_ns)
{
	struct row_batch_table *t = &b->tables[table];
	uint32_t quarter = (uint32_t)(time_ns / (int64_t)NS_PER_S / STORE_QUARTER_S);

	if (t->n_rows > 0 && (is_full(t) || quarter != t->quarter)) {
		int r = pack(b, t);

		if (r < 0)
			return r;
	}
	t->quarter = quarter;
	*row = (struct row){.batch = b, .table = t, .old_len = t->rows.len};
	rowbinary_writer_init(&row->w, &t->rows);
	return 0;
}

/* Counts the row, or removes what was written of it. */
static int end_row(const struct row *row)
{
	struct row_batch *b = row->batch;
	struct buf *rows = &row->table->rows;
	uint64_t n = rows->len - row->old_len;
	int r = rowbinary_writer_finish(&row->w);

	if (r == 0 && n > b->max_bytes - b->n_bytes)
		r = -EFBIG;
	if (r < 0) {
		rows->len = row->old_len;
		return r;
	}
	row->table->n_rows++;
	b->n_bytes += n;
	return 0;
}

static void put_text(struct rowbinary_writer *w, struct row_text text)
{
	rowbinary_put_string(w, text.data, text.len);
}

int row_batch_add_stack(struct row_batch *b, const struct stack_row *row)
{
	struct row out;
	int r = begin_row(&out, b, STORE_STACKS, row->last_seen_ns);

	if (r < 0)
		return r;
	put_text(&out.w, row->service);
	rowbinary_put_u64(&out.w, row->hash);
	rowbinary_put_i64(&out.w, row->last_seen_ns);
	rowbinary_put_count(&out.w, row->n_frames);
	for (size_t i = 0; i < row->n_frames; i++)
		put_text(&out.w, row->frames[i]);
	return end_row(&out);
}

/* The columns with which both samples and quality begin: which profile the row is of. */
static void put_profile(struct rowbinary_writer *w, struct row_text service, struct row_text type,
			int64_t start_ns, int64_t end_ns)
{
	put_text(w, service);
	put_text(w, type);
	rowbinary_put_i64(w, start_ns);
	rowbinary_put_i64(w, end_ns);
}

static void put_labels(struct rowbinary_writer *w, const struct row_label *labels, size_t n)
{
	rowbinary_put_count(w, n);
	for (size_t i = 0; i < n; i++) {
		put_text(w, labels[i].name);
		put_text(w, labels[i].value);
	}
}

int row_batch_add_sample(struct row_batch *b, const struct sample_row *row)
{
	struct row out;
	int r = begin_row(&out, b, STORE_SAMPLES, row->start_ns);

	if (r < 0)
		return r;
	put_profile(&out.w, row->service, row->type, row->start_ns, row->end_ns);
	put_labels(&out.w, row->labels, row->n_labels);
	rowbinary_put_u64(&out.w, row->stack_hash);
	rowbinary_put_i64(&out.w, row->value);
	return end_row(&out);
}

/* Appends the row of len bytes at begin once more, with another value at its end. */
static int repeat_sample(struct row_batch *b, size_t begin, size_t len,
			 const struct sample_value *value)
{
	struct row_batch_table *t = &b->tables[STORE_SAMPLES];
	const uint64_t end[] = {htole64(value->stack_hash), htole64((uint64_t)value->value)};
	char *to;
	int r;

	if (len > b->max_bytes - b->n_bytes)
		return -EFBIG;
	r = buf_reserve(&t->rows, len);
	if (r < 0)
		return r;
	to = t->rows.data + t->rows.len;
	memcpy(to, t->rows.data + begin, len - sizeof(end));
	memcpy(to + len - sizeof(end), end, sizeof(end));
	t->rows.len += len;
	t->n_rows++;
	b->n_bytes += len;
	return 0;
}

int row_batch_add_samples(struct row_batch *b, const struct sample_row *row,
			  const struct sample_value *values, size_t n)
{
	const struct row_batch_table *t = &b->tables[STORE_SAMPLES];
	struct sample_row first = *row;
	size_t len = 0;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (len > 0 && !is_full(t)) {
			r = repeat_sample(b, t->rows.len - len, len, &values[i]);
			continue;
		}
		/* the first one in its frame */
		len = (size_t)b->n_bytes;
		first.stack_hash = values[i].stack_hash;
		first.value = values[i].value;
		r = row_batch_add_sample(b, &first);
		len = (size_t)b->n_bytes - len;
	}
	return r;
}

static void put_counts(struct rowbinary_writer *w, const struct row_count *counts, size_t n)
{
	rowbinary_put_count(w, n);
	for (size_t i = 0; i < n; i++) {
		put_text(w, counts[i].name);
		rowbinary_put_u64(w, counts[i].count);
	}
}

int row_batch_add_quality(struct row_batch *b, const struct quality_row *row)
{
	struct row out;
	int r = begin_row(&out, b, STORE_QUALITY, row->start_ns);

	if (r < 0)
		return r;
	put_profile(&out.w, row->service, row->type, row->start_ns, row->end_ns);
	put_text(&out.w, row->host);
	rowbinary_put_u64(&out.w, row->n_samples);
	rowbinary_put_u64(&out.w, row->n_truncated);
	rowbinary_put_i64(&out.w, row->value);
	rowbinary_put_u64(&out.w, row->instance);
	put_counts(&out.w, row->lost, row->n_lost);
	rowbinary_put_u64(&out.w, row->upload);
	put_counts(&out.w, row->runtimes, row->n_runtimes);
	put_counts(&out.w, row->unwinding, row->n_unwinding);
	put_counts(&out.w, row->starts, row->n_starts);
	put_labels(&out.w, row->labels, row->n_labels);
	rowbinary_put_u64(&out.w, row->label_set);
	return end_row(&out);
}
