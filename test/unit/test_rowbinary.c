#include <errno.h>

#include "cluster-agent/store/rowbinary.h"
#include "test/lib/unit.h"

TEST(writes_the_bytes_of_the_format)
{
	static const char expected[] = "\x03"
				       "abc"
				       "\x00"
				       "\xac\x02"
				       "\x07"
				       "\x08\x07\x06\x05\x04\x03\x02\x01"
				       "\xfe\xff\xff\xff\xff\xff\xff\xff";
	CLEANUP(buf_fini) struct buf out;
	struct rowbinary_writer w;

	buf_init(&out, 1000);
	rowbinary_writer_init(&w, &out);
	rowbinary_put_string(&w, "abc", 3);
	rowbinary_put_string(&w, NULL, 0);
	rowbinary_put_count(&w, 300);
	rowbinary_put_u8(&w, 7);
	rowbinary_put_u64(&w, UINT64_C(0x0102030405060708));
	rowbinary_put_i64(&w, -2);
	assert_int_equal(rowbinary_writer_finish(&w), 0);
	assert_int_equal(out.len, sizeof(expected) - 1);
	assert_memory_equal(out.data, expected, out.len);
}

TEST(writer_keeps_its_first_error)
{
	CLEANUP(buf_fini) struct buf out;
	struct rowbinary_writer w;

	buf_init(&out, 4);
	rowbinary_writer_init(&w, &out);
	rowbinary_put_u64(&w, 1);
	rowbinary_put_u8(&w, 1);
	assert_int_equal(rowbinary_writer_finish(&w), -EFBIG);
	assert_int_equal(out.len, 0);
}

TEST(reads_what_the_writer_wrote)
{
	static const uint64_t counts[] = {0, 1, 127, 128, 16383, 16384};
	CLEANUP(buf_fini) struct buf out;
	struct rowbinary_writer w;
	struct rowbinary_reader r;
	AUTO_FREE char *padding = calloc(1, 20000);
	const char *s;
	size_t len;

	assert_non_null(padding);
	buf_init(&out, 100000);
	rowbinary_writer_init(&w, &out);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		rowbinary_put_count(&w, counts[i]);
	rowbinary_put_i64(&w, INT64_MIN);
	rowbinary_put_u64(&w, UINT64_MAX);
	rowbinary_put_u64(&w, UINT64_C(0x3ff8000000000000)); /* 1.5 */
	rowbinary_put_string(&w, padding, 20000);
	assert_int_equal(rowbinary_writer_finish(&w), 0);

	rowbinary_reader_init(&r, out.data, out.len);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		assert_int_equal(rowbinary_get_count(&r), counts[i]);
	assert_true(rowbinary_get_i64(&r) == INT64_MIN);
	assert_true(rowbinary_get_u64(&r) == UINT64_MAX);
	assert_true(rowbinary_get_f64(&r) == 1.5);
	assert_true(rowbinary_has_more(&r));
	s = rowbinary_get_string(&r, &len);
	assert_int_equal(len, 20000);
	assert_memory_equal(s, padding, len);
	assert_false(rowbinary_has_more(&r));
	assert_int_equal(rowbinary_reader_finish(&r), 0);
}

TEST(refuses_values_that_end_too_early)
{
	static const struct {
		const char *bytes;
		size_t len;
	} strings[] = {
		{"", 0},
		{"\x05"
		 "abcd",
		 5},
		{"\x80", 1},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
		 "a",
		 11},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11},
	};

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		struct rowbinary_reader r;
		size_t len = 99;

		rowbinary_reader_init(&r, strings[i].bytes, strings[i].len);
		assert_string_equal(rowbinary_get_string(&r, &len), "");
		assert_int_equal(len, 0);
		assert_int_equal(rowbinary_reader_finish(&r), -EBADMSG);
		assert_int_equal(rowbinary_get_u8(&r), 0);
		assert_false(rowbinary_has_more(&r));
	}
}

TEST(an_empty_answer_has_no_rows)
{
	struct rowbinary_reader r;

	rowbinary_reader_init(&r, NULL, 0);
	assert_false(rowbinary_has_more(&r));
	assert_int_equal(rowbinary_reader_finish(&r), 0);
}
