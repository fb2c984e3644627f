#include "cluster-agent/store/clickhouse_body.h"

#include <errno.h>

#include <zstd.h>

#include "test/lib/unit.h"

#define N_FRAMES 3
#define ROW_BYTES 1000

struct rows {
	char plain[N_FRAMES * ROW_BYTES];
	struct buf packed[N_FRAMES];
	struct store_frame frames[N_FRAMES];
};

static void rows_fini(struct rows *r)
{
	for (size_t i = 0; i < N_FRAMES; i++)
		buf_fini(&r->packed[i]);
}

static void rows_init(struct rows *r)
{
	for (size_t i = 0; i < sizeof(r->plain); i++)
		r->plain[i] = (char)(i * i % 251);
	for (size_t i = 0; i < N_FRAMES; i++) {
		struct buf *b = &r->packed[i];

		buf_init(b, SIZE_MAX);
		assert_int_equal(buf_reserve(b, ZSTD_compressBound(ROW_BYTES)), 0);
		b->len = ZSTD_compress(b->data, b->cap, r->plain + i * ROW_BYTES, ROW_BYTES, 1);
		assert_false(ZSTD_isError(b->len));
		r->frames[i] = (struct store_frame){.data = b->data, .len = b->len, .n_rows = 1};
	}
}

/* Reads all in pieces of that size. */
static void read_all(struct clickhouse_body *b, size_t piece, struct buf *ret)
{
	char data[ROW_BYTES];
	ssize_t n;

	ret->len = 0;
	while ((n = clickhouse_body_read(b, data, piece)) > 0)
		assert_int_equal(buf_add(ret, data, (size_t)n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(clickhouse_body_read(b, data, piece), 0);
}

TEST(reads_frames_in_pieces_of_any_size)
{
	static const size_t pieces[] = {1, 7, 64, 999, 1000};
	CLEANUP(rows_fini) struct rows r;
	CLEANUP(buf_fini) struct buf expected, got;

	rows_init(&r);
	buf_init(&expected, SIZE_MAX);
	buf_init(&got, SIZE_MAX);
	for (size_t i = 0; i < N_FRAMES; i++)
		assert_int_equal(buf_add(&expected, r.frames[i].data, r.frames[i].len), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		CLEANUP(clickhouse_body_fini) struct clickhouse_body packed, inflated;

		assert_int_equal(clickhouse_body_init(&packed, r.frames, N_FRAMES, false), 0);
		assert_int_equal(clickhouse_body_init(&inflated, r.frames, N_FRAMES, true), 0);
		read_all(&packed, pieces[i], &got);
		assert_int_equal(got.len, expected.len);
		assert_memory_equal(got.data, expected.data, got.len);
		read_all(&inflated, pieces[i], &got);
		assert_int_equal(got.len, sizeof(r.plain));
		assert_memory_equal(got.data, r.plain, got.len);
	}
}

TEST(starts_again_from_anywhere)
{
	CLEANUP(rows_fini) struct rows r;
	CLEANUP(buf_fini) struct buf got;
	char data[ROW_BYTES];

	rows_init(&r);
	buf_init(&got, SIZE_MAX);
	for (size_t n = 1; n < ROW_BYTES; n += 37) {
		CLEANUP(clickhouse_body_fini) struct clickhouse_body b;

		assert_int_equal(clickhouse_body_init(&b, r.frames, N_FRAMES, true), 0);
		assert_true(clickhouse_body_read(&b, data, n) > 0);
		clickhouse_body_rewind(&b);
		read_all(&b, 512, &got);
		assert_int_equal(got.len, sizeof(r.plain));
		assert_memory_equal(got.data, r.plain, got.len);
	}
}

TEST(a_damaged_or_cut_frame_is_an_error)
{
	CLEANUP(rows_fini) struct rows r;
	char data[2 * sizeof(r.plain)];

	rows_init(&r);
	for (size_t len = 0; len < r.frames[1].len; len++) {
		CLEANUP(clickhouse_body_fini) struct clickhouse_body b;
		struct store_frame cut = r.frames[1];

		cut.len = len;
		assert_int_equal(clickhouse_body_init(&b, &cut, 1, true), 0);
		assert_int_equal(clickhouse_body_read(&b, data, sizeof(data)), -EBADMSG);
	}
	r.packed[0].data[0] ^= 1;
	{
		CLEANUP(clickhouse_body_fini) struct clickhouse_body b;

		assert_int_equal(clickhouse_body_init(&b, r.frames, N_FRAMES, true), 0);
		assert_int_equal(clickhouse_body_read(&b, data, sizeof(data)), -EBADMSG);
	}
}
