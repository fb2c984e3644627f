/*
 * The format Native encoded again, on small answers made by hand
 * and damaged ones. test/store has it for values of all types, with the engine.
 */
#include <errno.h>

#include "cluster-agent/sql/native_blocks.h"
#include "cluster-agent/sql/native_type.h"
#include "test/lib/unit.h"

/* "SELECT 1, 'a'" */
static const char plain[] = "\x02\x01"
			    "\x01x\x05UInt8\x01"
			    "\x01y\x06String\x01"
			    "a";
#define PLAIN_LEN (sizeof(plain) - 1)

static int encode(const void *data, size_t len, uint64_t revision, struct buf *out, struct err *err)
{
	buf_init(out, 100000);
	return native_blocks_encode(data, len, revision, out, err);
}

TEST(block_information_and_the_byte_are_inserted)
{
	static const char with_info[] = "\x01\x00\x02\xff\xff\xff\xff\x00"
					"\x02\x01"
					"\x01x\x05UInt8\x01"
					"\x01y\x06String\x01"
					"a";
	static const char with_byte[] = "\x01\x00\x02\xff\xff\xff\xff\x00"
					"\x02\x01"
					"\x01x\x05UInt8\x00\x01"
					"\x01y\x06String\x00\x01"
					"a";
	struct err err = {0};

	for (uint64_t revision = 54400; revision < 54500; revision += 3) {
		CLEANUP(buf_fini) struct buf out;
		bool has_byte = revision >= NATIVE_REVISION_SERIALIZATION;
		size_t len = has_byte ? sizeof(with_byte) - 1 : sizeof(with_info) - 1;

		assert_int_equal(encode(plain, PLAIN_LEN, revision, &out, &err), 0);
		assert_int_equal(out.len, len);
		assert_memory_equal(out.data, has_byte ? with_byte : with_info, len);
	}
}

TEST(a_block_without_rows_has_no_data)
{
	static const char empty[] = "\x01\x00\x01x\x07Variant";
	CLEANUP(buf_fini) struct buf out;
	struct err err = {0};

	assert_int_equal(encode(empty, sizeof(empty) - 1, 1, &out, &err), 0);
	assert_int_equal(out.len, sizeof(empty) - 1 + 8);
}

TEST(what_is_cut_off_is_refused)
{
	for (size_t len = 1; len < PLAIN_LEN; len++) {
		CLEANUP(buf_fini) struct buf out;
		struct err err = {0};

		assert_int_equal(encode(plain, len, 1, &out, &err), -EBADMSG);
		assert_true(err.msg[0]);
	}
}

TEST(counts_beyond_the_data_are_refused)
{
	static const struct {
		const char *data;
		size_t len;
	} cases[] = {
#define CASE(s) {s, sizeof(s) - 1}
		/* rows, bytes of a string, items of an array, keys, an index of another size */
		CASE("\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01x\x06UInt64........"),
		CASE("\x01\x01\x01x\x06String\xff\xff\xff\xff\x0f."),
		CASE("\x01\x01\x01x\x0c"
		     "Array(UInt8)\xff\xff\xff\xff\xff\xff\xff\xff."),
		CASE("\x01\x01\x01x\x15LowCardinality(UInt8)\x01\0\0\0\0\0\0\0"
		     "\x00\x02\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff.."),
		CASE("\x01\x01\x01x\x15LowCardinality(UInt8)\x01\0\0\0\0\0\0\0"
		     "\x04\x02\0\0\0\0\0\0\x01\0\0\0\0\0\0\0.\x01\0\0\0\0\0\0\0."),
		CASE("\x01\x01\x01x\x15LowCardinality(UInt8)\x02\0\0\0\0\0\0\0"
		     "\x00\x02\0\0\0\0\0\0\x01\0\0\0\0\0\0\0.\x01\0\0\0\0\0\0\0."),
#undef CASE
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_fini) struct buf out;
		struct err err = {0};

		assert_int_equal(encode(cases[i].data, cases[i].len, 1, &out, &err), -EBADMSG);
	}
}

TEST(a_column_that_cannot_be_measured_is_named)
{
	static const char data[] = "\x01\x01\x04name\x07"
				   "Dynamic.....";
	CLEANUP(buf_fini) struct buf out;
	struct err err = {0};

	assert_int_equal(encode(data, sizeof(data) - 1, 1, &out, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "The column name of type Dynamic"));
}

TEST(the_limit_is_kept)
{
	CLEANUP(buf_fini) struct buf out;
	struct err err = {0};

	buf_init(&out, PLAIN_LEN);
	assert_int_equal(native_blocks_encode(plain, PLAIN_LEN, 1, &out, &err), -EFBIG);
}

TEST(types_nest_within_limits)
{
	static const char *const bad[] = {
		"",
		"Array",
		"Array(",
		"Array()",
		"Array(UInt8",
		"Array(UInt8))",
		"Array(UInt8,UInt8)",
		"Unknown",
		"UInt8(",
		"FixedString(0)",
		"FixedString(99999999999)",
		"FixedString(x)",
		"Decimal(77, 1)",
		"Decimal",
		"Tuple(",
		"Tuple(a)",
		"Tuple(`a)",
		"Enum8('a = 1)",
		"LowCardinality(Array(UInt8))",
		"Nullable(Variant(UInt8))",
		"Map(String, JSON)",
		"SimpleAggregateFunction(sum)",
		"AggregateFunction(sum, UInt8)",
	};
	struct native_type t;
	char deep[7 * 100 + 10] = "";
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(native_type_parse(&t, bad[i], strlen(bad[i])), -EOPNOTSUPP);
	for (unsigned depth = 0; depth < 100; depth++) {
		memcpy(deep + len, "Array(", 6);
		len += 6;
		memcpy(deep + len, "UInt8", 5);
		for (unsigned i = 0; i <= depth; i++)
			deep[len + 5 + i] = ')';
		assert_int_equal(native_type_parse(&t, deep, len + 6 + depth),
				 depth + 2 <= NATIVE_TYPE_MAX_DEPTH ? 0 : -EOPNOTSUPP);
	}
}

/* More elements than there is room for. */
TEST(types_of_many_parts_are_refused)
{
	CLEANUP(buf_fini) struct buf name;
	struct native_type t;

	buf_init(&name, 100000);
	assert_int_equal(buf_addf(&name, "Tuple(UInt8"), 0);
	for (unsigned i = 2; i < NATIVE_TYPE_MAX_NODES; i++)
		assert_int_equal(buf_addf(&name, ", UInt8"), 0);
	assert_int_equal(buf_addf(&name, ")"), 0);
	assert_int_equal(native_type_parse(&t, name.data, name.len), 0);
	name.len--;
	assert_int_equal(buf_addf(&name, ", UInt8)"), 0);
	assert_int_equal(native_type_parse(&t, name.data, name.len), -EOPNOTSUPP);
}
