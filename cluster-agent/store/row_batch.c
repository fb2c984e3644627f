#include "cluster-agent/store/row_batch.h"

#include "cluster-agent/store/rowbinary.h"

void row_batch_init(struct row_batch *b, size_t limit_bytes)
{
	*b = (struct row_batch){0};
	for (size_t i = 0; i < STORE_TABLE_MAX; i++)
		buf_init(&b->rows[i], limit_bytes);
}

void row_batch_fini(struct row_batch *b)
{
	for (size_t i = 0; i < STORE_TABLE_MAX; i++) {
		buf_fini(&b->rows[i]);
		b->n_rows[i] = 0;
	}
}

/* Counts the row that was just written, or removes what was written of it. */
static int end_row(struct row_batch *b, enum store_table table, const struct rowbinary_writer *w,
		   size_t old_len)
{
	struct buf *rows = &b->rows[table];
	int r = rowbinary_writer_finish(w);

	if (r < 0) {
		rows->len = old_len;
		return r;
	}
	b->n_rows[table]++;
	return 0;
}

static void put_text(struct rowbinary_writer *w, struct row_text text)
{
	rowbinary_put_string(w, text.data, text.len);
}

int row_batch_add_stack(struct row_batch *b, const struct stack_row *row)
{
	struct buf *rows = &b->rows[STORE_STACKS];
	size_t old_len = rows->len;
	struct rowbinary_writer w;

	rowbinary_writer_init(&w, rows);
	put_text(&w, row->service);
	rowbinary_put_u64(&w, row->hash);
	rowbinary_put_i64(&w, row->last_seen_ns);
	rowbinary_put_count(&w, row->n_frames);
	for (size_t i = 0; i < row->n_frames; i++)
		put_text(&w, row->frames[i]);
	return end_row(b, STORE_STACKS, &w, old_len);
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

int row_batch_add_sample(struct row_batch *b, const struct sample_row *row)
{
	struct buf *rows = &b->rows[STORE_SAMPLES];
	size_t old_len = rows->len;
	struct rowbinary_writer w;

	rowbinary_writer_init(&w, rows);
	put_profile(&w, row->service, row->type, row->start_ns, row->end_ns);
	rowbinary_put_count(&w, row->n_labels);
	for (size_t i = 0; i < row->n_labels; i++) {
		put_text(&w, row->labels[i].name);
		put_text(&w, row->labels[i].value);
	}
	rowbinary_put_u64(&w, row->stack_hash);
	rowbinary_put_i64(&w, row->value);
	return end_row(b, STORE_SAMPLES, &w, old_len);
}

int row_batch_add_quality(struct row_batch *b, const struct quality_row *row)
{
	struct buf *rows = &b->rows[STORE_QUALITY];
	size_t old_len = rows->len;
	struct rowbinary_writer w;

	rowbinary_writer_init(&w, rows);
	put_profile(&w, row->service, row->type, row->start_ns, row->end_ns);
	put_text(&w, row->host);
	rowbinary_put_u64(&w, row->n_samples);
	rowbinary_put_u64(&w, row->n_truncated);
	rowbinary_put_i64(&w, row->value);
	rowbinary_put_u64(&w, row->instance);
	rowbinary_put_count(&w, row->n_lost);
	for (size_t i = 0; i < row->n_lost; i++) {
		put_text(&w, row->lost[i].name);
		rowbinary_put_u64(&w, row->lost[i].count);
	}
	return end_row(b, STORE_QUALITY, &w, old_len);
}

int row_batch_append(struct row_batch *b, const struct row_batch *src)
{
	size_t old_len[STORE_TABLE_MAX];
	int r = 0;

	for (size_t i = 0; i < STORE_TABLE_MAX; i++)
		old_len[i] = b->rows[i].len;
	for (size_t i = 0; i < STORE_TABLE_MAX && r == 0; i++)
		r = buf_add(&b->rows[i], src->rows[i].data, src->rows[i].len);
	for (size_t i = 0; i < STORE_TABLE_MAX; i++) {
		if (r < 0)
			b->rows[i].len = old_len[i];
		else
			b->n_rows[i] += src->n_rows[i];
	}
	return r;
}

size_t row_batch_bytes(const struct row_batch *b)
{
	size_t n = 0;

	for (size_t i = 0; i < STORE_TABLE_MAX; i++)
		n += b->rows[i].len;
	return n;
}

uint64_t row_batch_rows(const struct row_batch *b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < STORE_TABLE_MAX; i++)
		n += b->n_rows[i];
	return n;
}
