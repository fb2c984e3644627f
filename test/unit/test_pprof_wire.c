#include <errno.h>

#include "common/pprof/pprof_wire.h"
#include "test/lib/unit.h"

static struct wire_reader reader(const void *data, size_t len)
{
	const uint8_t *p = data;

	return (struct wire_reader){p, p + len};
}

TEST(varints_read_as_they_were_written)
{
	static const struct {
		uint64_t value;
		size_t len;
	} cases[] = {
		{0, 1},           {1, 1},          {127, 1},
		{128, 2},         {300, 2},        {16383, 2},
		{16384, 3},       {UINT32_MAX, 5}, {(uint64_t)INT64_MAX, 9},
		{UINT64_MAX, 10},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_fini) struct buf out;
		struct wire_writer w = {&out, 0};
		struct wire_reader r;
		uint64_t value;

		buf_init(&out, 100);
		wire_writer_put_varint(&w, cases[i].value);
		assert_int_equal(w.error, 0);
		assert_int_equal(out.len, cases[i].len);
		assert_int_equal(wire_varint_len(cases[i].value), cases[i].len);
		r = reader(out.data, out.len);
		assert_int_equal(wire_reader_read_varint(&r, &value), 1);
		assert_true(value == cases[i].value);
		assert_int_equal(wire_reader_read_varint(&r, &value), 0);
		/* every truncation is detected */
		r = reader(out.data, out.len - 1);
		assert_int_equal(wire_reader_read_varint(&r, &value), out.len > 1 ? -EBADMSG : 0);
	}
}

TEST(varints_of_more_than_64_bits_are_refused)
{
	struct wire_reader r = reader("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
	uint64_t value;

	assert_int_equal(wire_reader_read_varint(&r, &value), -EBADMSG);
	r = reader("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11);
	assert_int_equal(wire_reader_read_varint(&r, &value), -EBADMSG);
}

TEST(fields_read_as_they_were_written)
{
	CLEANUP(buf_fini) struct buf out;
	struct wire_writer w = {&out, 0};
	struct wire_field f;
	struct wire_reader r;

	buf_init(&out, 100);
	wire_writer_put_number(&w, 9, 300);
	wire_writer_put_number(&w, 9, 0);
	wire_writer_put_bytes(&w, 536870911, "abc", 3);
	assert_int_equal(w.error, 0);

	r = reader(out.data, out.len);
	assert_int_equal(wire_reader_read_field(&r, &f), 1);
	assert_int_equal(f.number, 9);
	assert_int_equal(f.type, WIRE_VARINT);
	assert_int_equal(f.value, 300);
	assert_int_equal(wire_reader_read_field(&r, &f), 1);
	assert_int_equal(f.number, 536870911);
	assert_int_equal(f.type, WIRE_BYTES);
	assert_int_equal(f.len, 3);
	assert_memory_equal(f.data, "abc", 3);
	assert_int_equal(wire_reader_read_field(&r, &f), 0);
}

TEST(fixed_fields_are_stepped_over)
{
	/* field 1 of 64 bits, field 2 of 32, field 3 the number 7 */
	struct wire_reader r = reader("\x09"
				      "12345678"
				      "\x15"
				      "1234"
				      "\x18\x07",
				      16);
	struct wire_field f;

	assert_int_equal(wire_reader_read_field(&r, &f), 1);
	assert_int_equal(f.len, 8);
	assert_int_equal(wire_reader_read_field(&r, &f), 1);
	assert_int_equal(f.len, 4);
	assert_int_equal(wire_reader_read_field(&r, &f), 1);
	assert_int_equal(f.value, 7);
}

TEST(broken_fields_are_refused)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{"\x08", 1},      /* no value */
		{"\x0a", 1},      /* no length */
		{"\x0a\x02x", 3}, /* a byte is missing */
		{"\x09"
		 "1234567",
		 8}, /* of 8 */
		{"\x0d"
		 "123",
		 4},                                                  /* of 4 */
		{"\x0b", 1},                                          /* group */
		{"\x0e", 1},                                          /* no such type */
		{"\x02\x00", 2},                                      /* field 0 */
		{"\x82\x80\x80\x80\x10\x00", 6},                      /* field 2^29 */
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}, /* length 2^64-1 */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_reader r = reader(cases[i].bytes, cases[i].len);
		struct wire_field f;

		assert_int_equal(wire_reader_read_field(&r, &f), -EBADMSG);
	}
}

TEST(the_first_failure_sticks)
{
	CLEANUP(buf_fini) struct buf out;
	struct wire_writer w = {&out, 0};

	buf_init(&out, 4);
	wire_writer_put_bytes(&w, 1, "abc", 3);
	assert_int_equal(w.error, -EFBIG);
	assert_int_equal(out.len, 2);
	wire_writer_put_varint(&w, 1);
	assert_int_equal(out.len, 2);
}
