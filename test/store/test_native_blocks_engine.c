/*
 * native_blocks.h on what the real engine writes: for values of every type of this release, in
 * several blocks. The environment names libchdb.so as CHDB_LIBRARY.
 */
#include <errno.h>

#include "cluster-agent/sql/native_blocks.h"
#include "cluster-agent/sql/native_type.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define ROWS 20000
#define BLOCK_INFO_BYTES 8

static struct store *store;

static int start(void **state)
{
	struct store_chdb_config cfg = {temp_dir(), UINT64_C(86400) * NS_PER_S,
					getenv("CHDB_LIBRARY")};
	struct err err = {0};

	(void)state;
	if (store_chdb_open(&store, &cfg, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	return 0;
}

static int stop(void **state)
{
	(void)state;
	store_close(store);
	return 0;
}

static void query(const char *sql, const char *format, struct buf *out)
{
	const struct store_query q = {.sql = sql, .format = format};
	struct err err = {0};
	int r;

	buf_init(out, (size_t)256 << 20);
	r = store_query(store, &q, out, &err);
	if (r < 0)
		fail_msg("%s: %s", sql, err.msg);
}

/* Expressions of the column number, of all families that native_type.h knows. */
static const char *const expressions[] = {
	"toUInt8(number)",
	"toUInt16(number)",
	"toUInt32(number)",
	"number",
	"toUInt128(number)",
	"toUInt256(number)",
	"toInt8(number)",
	"toInt16(number)",
	"toInt32(number)",
	"toInt64(number)",
	"toInt128(number)",
	"toInt256(number)",
	"toFloat32(number)",
	"toFloat64(number)",
	"toBFloat16(number)",
	"number % 2 = 1",
	"(number % 2 = 1)::Bool",
	"toString(number)",
	"''",
	"repeat('x', number % 300)",
	"toFixedString(toString(number), 7)",
	"toDate(number)",
	"toDate32(number)",
	"toDateTime(number)",
	"toDateTime(number, 'Asia/Tokyo')",
	"toDateTime64(number, 9)",
	"toDateTime64(number, 3, 'Asia/Tokyo')",
	"CAST(number % 86400, 'Time')",
	"CAST(number % 86400, 'Time64(6)')",
	"generateUUIDv4(number)",
	"toIPv4(toUInt32(number))",
	"toIPv6(toIPv4(toUInt32(number)))",
	"CAST(number % 2, 'Enum8(\\'a\\' = 0, \\'it\\\\\\'s)\\' = 1)')",
	"CAST(number % 2, 'Enum16(\\'a,(\\' = 0, \\'b\\' = 1)')",
	"toDecimal32(number, 2)",
	"toDecimal64(number, 4)",
	"toDecimal128(number, 6)",
	"toDecimal256(number, 8)",
	"toIntervalSecond(number)",
	"toIntervalYear(number)",
	"NULL",
	"[]",
	"tuple()",
	"toNullable(number)",
	"nullIf(number % 3, 0)",
	"nullIf(toString(number % 3), '0')",
	"toLowCardinality(toString(number % 300))",
	"toLowCardinality(toString(number))",
	"toLowCardinality(nullIf(toString(number % 3), '0'))",
	"toLowCardinality(toDate(number))",
	"range(number % 5)",
	"arrayMap(x -> toString(x), range(number % 5))",
	"arrayMap(x -> range(x), range(number % 4))",
	"CAST(arrayMap(x -> toString(x), range(number % 5)), 'Array(LowCardinality(String))')",
	"CAST([] , 'Array(LowCardinality(Nullable(String)))')",
	"arrayMap(x -> nullIf(x, 1), range(number % 5))",
	"map(toString(number), number)",
	"CAST(map('k', [number % 7]), 'Map(LowCardinality(String), Array(UInt8))')",
	"CAST(map(), 'Map(LowCardinality(String), String)')",
	"(number, toString(number), [toLowCardinality('x')], tuple())",
	"CAST((number, 'x'), 'Tuple(n UInt64, `a (name, ` LowCardinality(String))')",
	"CAST([(number, 'x')], 'Nested(a UInt64, b LowCardinality(String))')",
	"CAST(number, 'SimpleAggregateFunction(sum, UInt64)')",
	"CAST([number], 'SimpleAggregateFunction(groupArrayArray(10), Array(UInt64))')",
	"(number, 1.)::Point",
	"[(number, 1.)]::Ring",
	"[(number, 1.)]::LineString",
	"[[(number, 1.)]]::Polygon",
	"[[(number, 1.)]]::MultiLineString",
	"[[[(number, 1.)]]]::MultiPolygon",
};

static bool varint(const uint8_t **pos, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; *pos < end && shift < 63; shift += 7) {
		uint8_t byte = *(*pos)++;

		*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/*
 * Whether encoded is plain with block information before each block of one column called x, and
 * with has_byte a zero behind its type.
 */
static void assert_blocks(const struct buf *plain, const struct buf *encoded, bool has_byte)
{
	const uint8_t info[BLOCK_INFO_BYTES] = {1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0};
	const uint8_t *p = (const uint8_t *)encoded->data, *end = p + encoded->len;
	size_t at = 0, rows = 0;

	while (rows < ROWS) {
		uint64_t n_columns = 0, n_rows = 0, len = 0;
		const uint8_t *next, *start;

		assert_true(end - p > BLOCK_INFO_BYTES);
		assert_memory_equal(p, info, sizeof(info));
		start = p + sizeof(info);
		p = start;
		assert_true(varint(&p, end, &n_columns) && varint(&p, end, &n_rows));
		assert_int_equal(n_columns, 1);
		assert_true(n_rows > 0);
		rows += n_rows;
		p += 2; /* "x" */
		assert_true(varint(&p, end, &len));
		p += len;
		assert_true(p < end);
		assert_memory_equal(plain->data + at, start, p - start);
		at += (size_t)(p - start);
		if (has_byte)
			assert_int_equal(*p++, 0);
		/* the block ends where the next one begins, or with the answer */
		next = rows < ROWS ? memmem(p, (size_t)(end - p), info, sizeof(info)) : end;
		assert_non_null(next);
		assert_true((size_t)(next - p) <= plain->len - at);
		assert_memory_equal(plain->data + at, p, next - p);
		at += (size_t)(next - p);
		p = next;
	}
	assert_int_equal(rows, ROWS);
	assert_int_equal(at, plain->len);
}

TEST(columns_of_every_type_are_measured)
{
	static const uint64_t revisions[] = {1, NATIVE_REVISION_SERIALIZATION};

	for (size_t i = 0; i < ARRAY_SIZE(expressions) * ARRAY_SIZE(revisions); i++) {
		uint64_t revision = revisions[i % ARRAY_SIZE(revisions)];
		const char *expression = expressions[i / ARRAY_SIZE(revisions)];
		CLEANUP(buf_fini) struct buf plain;
		CLEANUP(buf_fini) struct buf encoded;
		struct err err = {0};
		char sql[512];

		snprintf(sql, sizeof(sql), "SELECT %s AS x FROM numbers(%d)", expression, ROWS);
		query(sql, "Native", &plain);
		buf_init(&encoded, (size_t)256 << 20);
		if (native_blocks_encode(plain.data, plain.len, revision, &encoded, &err) < 0)
			fail_msg("%s: %s", expression, err.msg);
		assert_blocks(&plain, &encoded, revision > 1);
	}
}

TEST(all_types_in_one_block)
{
	CLEANUP(buf_fini) struct buf sql;
	CLEANUP(buf_fini) struct buf plain;
	CLEANUP(buf_fini) struct buf encoded;
	struct err err = {0};

	buf_init(&sql, 100000);
	for (size_t i = 0; i < ARRAY_SIZE(expressions); i++)
		assert_int_equal(
			buf_addf(&sql, "%s %s AS c%zu", i ? "," : "SELECT", expressions[i], i), 0);
	assert_int_equal(buf_addf(&sql, " FROM numbers(3)"), 0);
	query(sql.data, "Native", &plain);
	buf_init(&encoded, (size_t)1 << 20);
	if (native_blocks_encode(plain.data, plain.len, NATIVE_REVISION_SERIALIZATION, &encoded,
				 &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(encoded.len, plain.len + BLOCK_INFO_BYTES + ARRAY_SIZE(expressions));
}

/* What cannot be measured is named in the exception. */
TEST(other_types_are_refused)
{
	static const char *const refused[] = {
		"sumState(number)",   "number::Dynamic",    "number::Variant(UInt64, String)",
		"'{\"a\": 1}'::JSON", "[sumState(number)]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		CLEANUP(buf_fini) struct buf plain;
		CLEANUP(buf_fini) struct buf encoded;
		struct err err = {0};
		char sql[512];

		snprintf(sql, sizeof(sql),
			 "SELECT %s AS `which one` FROM numbers(3) GROUP BY number", refused[i]);
		query(sql, "Native", &plain);
		buf_init(&encoded, (size_t)1 << 20);
		assert_int_equal(native_blocks_encode(plain.data, plain.len, 1, &encoded, &err),
				 -EOPNOTSUPP);
		assert_non_null(strstr(err.msg, "column which one of type"));
	}
}

/* A release that brings a type that nobody has judged fails here. */
TEST(every_family_of_types_is_known)
{
	static const char
		*const
			refused[] =
				{
					"AggregateFunction",
					"Variant",
					"Dynamic",
					"JSON",
					"Object",
					"Geometry",
					"QBit",
					"Enum",
					"DateTime32", /* answers have Enum8, Enum16 and DateTime */
				};
	CLEANUP(buf_fini) struct buf names;
	char *name, *next;
	unsigned n = 0;

	query("SELECT name FROM system.data_type_families WHERE alias_to = ''", "TSV", &names);
	for (name = names.data; *name; name = next) {
		char with_arguments[100];
		struct native_type t;
		bool ok = false;

		next = name + strcspn(name, "\n");
		*next++ = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
			ok |= strcmp(name, refused[i]) == 0;
		ok |= native_type_parse(&t, name, strlen(name)) == 0;
		snprintf(with_arguments, sizeof(with_arguments),
			 strcmp(name, "SimpleAggregateFunction") == 0 ? "%s(sum, UInt8)"
			 : strcmp(name, "FixedString") == 0 || strcmp(name, "Decimal") == 0
				 ? "%s(4)"
				 : "%s(UInt8)",
			 name);
		ok |= native_type_parse(&t, with_arguments, strlen(with_arguments)) == 0;
		if (!ok)
			fail_msg("the type %s is neither known nor refused", name);
		n++;
	}
	assert_true(n > 40);
}

GROUP_FIXTURE(start, stop)
