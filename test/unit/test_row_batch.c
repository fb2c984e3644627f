#include <errno.h>

#include <zstd.h>

#include "cluster-agent/store/row_batch.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define HOUR_NS ((int64_t)(3600 * NS_PER_S))

static const struct row_text frames[] = {{"leaf a.c:1", 10}, {"root ", 5}};
static const struct stack_row stack = {{"/svc", 4}, 7, 9, frames, 2};
static const struct sample_row sample = {{"/svc", 4}, {"t", 1}, 1, 2, NULL, 0, 7, -1};
static const struct quality_row quality = {{"/svc", 4}, {"t", 1}, 1,    2, {"h", 1}, 3,
					   4,           5,        NULL, 0, 6,        8};

/* Inflates all frames of a table into out; returns their number. */
static size_t unpack(struct row_batch *b, enum store_table table, struct buf *out)
{
	const struct store_frame *f;
	size_t n;

	assert_int_equal(row_batch_finish(b), 0);
	f = row_batch_frames(b, table, &n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(buf_reserve(out, f[i].n_bytes), 0);
		assert_int_equal(
			ZSTD_decompress(out->data + out->len, f[i].n_bytes, f[i].data, f[i].len),
			f[i].n_bytes);
		out->len += f[i].n_bytes;
	}
	return n;
}

TEST(encodes_columns_in_the_order_of_the_insert)
{
	static const char expected[] = "\x04/svc"
				       "\x07\0\0\0\0\0\0\0"
				       "\x09\0\0\0\0\0\0\0"
				       "\x02"
				       "\x0aleaf a.c:1"
				       "\x05root ";
	CLEANUP(row_batch_fini) struct row_batch b;
	CLEANUP(buf_fini) struct buf rows;

	row_batch_init(&b, 1000, 1000);
	buf_init(&rows, 1000);
	assert_int_equal(row_batch_add_stack(&b, &stack), 0);
	assert_int_equal(unpack(&b, STORE_STACKS, &rows), 1);
	assert_int_equal(rows.len, sizeof(expected) - 1);
	assert_memory_equal(rows.data, expected, sizeof(expected) - 1);
}

TEST(a_profiles_row_ends_with_its_labels)
{
	static const char end[] = "\x01"
				  "\x04zone"
				  "\x02"
				  "eu"
				  "\x09\0\0\0\0\0\0\0";
	static const struct row_label label = {{"zone", 4}, {"eu", 2}};
	CLEANUP(row_batch_fini) struct row_batch b;
	CLEANUP(buf_fini) struct buf rows;
	struct quality_row row = quality;

	row.labels = &label;
	row.n_labels = 1;
	row.label_set = 9;
	row_batch_init(&b, 1000, 1000);
	buf_init(&rows, 1000);
	assert_int_equal(row_batch_add_quality(&b, &row), 0);
	assert_int_equal(unpack(&b, STORE_QUALITY, &rows), 1);
	assert_memory_equal(rows.data + rows.len - (sizeof(end) - 1), end, sizeof(end) - 1);
}

TEST(a_row_that_does_not_fit_leaves_no_trace)
{
	CLEANUP(row_batch_fini) struct row_batch b;
	CLEANUP(buf_fini) struct buf rows;
	size_t len;

	row_batch_init(&b, 1000, 60);
	buf_init(&rows, 1000);
	assert_int_equal(row_batch_add_stack(&b, &stack), 0);
	len = b.tables[STORE_STACKS].rows.len;
	assert_int_equal(row_batch_add_stack(&b, &stack), -EFBIG);
	assert_int_equal(b.tables[STORE_STACKS].rows.len, len);
	assert_int_equal(unpack(&b, STORE_STACKS, &rows), 1);
	assert_int_equal(rows.len, len);
	assert_int_equal(row_batch_rows(&b), 1);
}

TEST(a_single_row_is_bounded)
{
	CLEANUP(row_batch_fini) struct row_batch b;
	AUTO_FREE char *text = calloc(1, ROW_BATCH_ROW_BYTES + ROW_BATCH_FRAME_BYTES);
	const struct row_text frame = {text, ROW_BATCH_ROW_BYTES + ROW_BATCH_FRAME_BYTES};
	const struct stack_row large = {{"/svc", 4}, 7, 9, &frame, 1};

	assert_non_null(text);
	row_batch_init(&b, SIZE_MAX, SIZE_MAX);
	assert_int_equal(row_batch_add_stack(&b, &stack), 0);
	assert_int_equal(row_batch_add_stack(&b, &large), -EFBIG);
	assert_int_equal(row_batch_finish(&b), 0);
	assert_int_equal(row_batch_rows(&b), 1);
}

static void add_many(struct row_batch *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct stack_row row = stack;

		row.hash = i;
		assert_int_equal(row_batch_add_stack(b, &row), 0);
	}
}

TEST(many_rows_become_frames_of_a_bounded_size)
{
	CLEANUP(row_batch_fini) struct row_batch b;
	CLEANUP(buf_fini) struct buf rows;
	const struct store_frame *f;
	uint64_t n_rows = 0;
	size_t n;

	row_batch_init(&b, SIZE_MAX, SIZE_MAX);
	buf_init(&rows, SIZE_MAX);
	add_many(&b, 100000);
	assert_int_equal(unpack(&b, STORE_STACKS, &rows), 8);
	assert_int_equal(rows.len, 100000 * 39);
	assert_int_equal(rows.len, b.n_bytes);
	/* the hash of the last row */
	assert_memory_equal(rows.data + rows.len - 34, "\x9f\x86\x01\0\0\0\0\0", 8);
	f = row_batch_frames(&b, STORE_STACKS, &n);
	for (size_t i = 0; i < n; i++) {
		assert_true(f[i].n_bytes < ROW_BATCH_FRAME_BYTES + 39);
		assert_true(f[i].len * 4 < f[i].n_bytes);
		n_rows += f[i].n_rows;
	}
	assert_int_equal(n_rows, 100000);
	assert_int_equal(row_batch_rows(&b), 100000);
}

TEST(many_samples_are_as_if_added_one_by_one)
{
	enum { N = 20000 };
	CLEANUP(row_batch_fini) struct row_batch many, single;
	CLEANUP(buf_fini) struct buf a, b;
	struct sample_value *values = calloc(N, sizeof(*values));

	assert_non_null(values);
	row_batch_init(&many, SIZE_MAX, SIZE_MAX);
	row_batch_init(&single, SIZE_MAX, SIZE_MAX);
	buf_init(&a, SIZE_MAX);
	buf_init(&b, SIZE_MAX);
	for (int i = 0; i < N; i++) {
		struct sample_row row = sample;

		values[i] = (struct sample_value){(uint64_t)i * 0x9e3779b97f4a7c15, -i};
		row.stack_hash = values[i].stack_hash;
		row.value = values[i].value;
		assert_int_equal(row_batch_add_sample(&single, &row), 0);
	}
	assert_int_equal(row_batch_add_samples(&many, &sample, values, 0), 0);
	assert_int_equal(row_batch_add_samples(&many, &sample, values, N / 2), 0);
	assert_int_equal(row_batch_add_samples(&many, &sample, values + N / 2, N - N / 2), 0);
	/* the same frames: there are several */
	assert_true(unpack(&many, STORE_SAMPLES, &a) > 1);
	assert_int_equal(many.tables[STORE_SAMPLES].n_frames, unpack(&single, STORE_SAMPLES, &b));
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	assert_int_equal(row_batch_rows(&many), N);
	assert_true(many.n_bytes == single.n_bytes);

	row_batch_clear(&many);
	many.max_bytes = 1000;
	assert_int_equal(row_batch_add_samples(&many, &sample, values, N), -EFBIG);
	assert_true(many.n_bytes <= 1000);
	free(values);
}

TEST(the_compressed_size_is_bounded_over_all_tables)
{
	CLEANUP(row_batch_fini) struct row_batch b;

	/* three small frames are some 150 bytes */
	row_batch_init(&b, 100, SIZE_MAX);
	assert_int_equal(row_batch_add_stack(&b, &stack), 0);
	assert_int_equal(row_batch_add_sample(&b, &sample), 0);
	assert_int_equal(row_batch_add_quality(&b, &quality), 0);
	assert_int_equal(row_batch_finish(&b), -EFBIG);
}

TEST(rows_of_different_days_are_in_different_frames)
{
	static const int64_t hours[] = {23, 23, 24, 47, 48, 23};
	static const uint32_t n_rows[] = {2, 1, 1, 1, 1};
	static const uint32_t quarters[] = {92, 96, 188, 192, 92};
	CLEANUP(row_batch_fini) struct row_batch b;
	const struct store_frame *f;
	size_t n;

	row_batch_init(&b, 10000, 10000);
	for (size_t i = 0; i < ARRAY_SIZE(hours); i++) {
		struct sample_row row = sample;

		row.start_ns = hours[i] * HOUR_NS;
		row.end_ns = row.start_ns + HOUR_NS;
		assert_int_equal(row_batch_add_sample(&b, &row), 0);
	}
	assert_int_equal(row_batch_finish(&b), 0);
	f = row_batch_frames(&b, STORE_SAMPLES, &n);
	assert_int_equal(n, ARRAY_SIZE(n_rows));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(f[i].n_rows, n_rows[i]);
		assert_int_equal(f[i].quarter, quarters[i]);
	}
}

TEST(a_cleared_batch_is_as_good_as_a_new_one)
{
	CLEANUP(row_batch_fini) struct row_batch b;
	CLEANUP(buf_fini) struct buf rows;

	row_batch_init(&b, 10000, 60);
	buf_init(&rows, 1000);
	assert_int_equal(row_batch_add_stack(&b, &stack), 0);
	assert_int_equal(row_batch_finish(&b), 0);
	assert_int_equal(row_batch_add_stack(&b, &stack), -EFBIG);
	row_batch_clear(&b);
	assert_int_equal(row_batch_rows(&b), 0);
	assert_int_equal(row_batch_add_stack(&b, &stack), 0);
	assert_int_equal(unpack(&b, STORE_STACKS, &rows), 1);
	assert_int_equal(rows.len, 39);
	assert_int_equal(row_batch_rows(&b), 1);
}

static int add_all(void *arg)
{
	static const struct sample_value values[] = {{1, 2}, {3, 4}};
	CLEANUP(row_batch_fini) struct row_batch b;
	int r;

	(void)arg;
	row_batch_init(&b, 1000, 1000);
	r = row_batch_add_stack(&b, &stack);
	if (r == 0)
		r = row_batch_add_sample(&b, &sample);
	if (r == 0)
		r = row_batch_add_samples(&b, &sample, values, ARRAY_SIZE(values));
	if (r == 0)
		r = row_batch_add_quality(&b, &quality);
	return r < 0 ? r : row_batch_finish(&b);
}

TEST(survives_every_failed_allocation)
{
	check_oom(add_all, NULL);
}
