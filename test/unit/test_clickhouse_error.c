#include "cluster-agent/store/clickhouse_error.h"
#include "test/lib/unit.h"

static enum clickhouse_advice advice(int code, const char *text)
{
	return clickhouse_advice(code, text, strlen(text));
}

TEST(only_what_is_said_about_rows_counts_against_them)
{
	static const int waits[] = {0,   1,   49,  62,  159, 164, 201, 202, 209, 210, 225, 242,
				    243, 252, 286, 319, 394, 425, 452, 497, 516, 999, 1001};

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		enum clickhouse_advice a = advice(waits[i], "");

		if (a == CLICKHOUSE_REFUSED || a == CLICKHOUSE_TOO_LARGE)
			fail_msg("code %d ends rows", waits[i]);
	}
	assert_int_equal(advice(33, ""), CLICKHOUSE_REFUSED);
	assert_int_equal(advice(117, ""), CLICKHOUSE_REFUSED);
	assert_int_equal(advice(562, ""), CLICKHOUSE_REFUSED);
	assert_int_equal(advice(60, ""), CLICKHOUSE_SCHEMA);
	assert_int_equal(advice(81, ""), CLICKHOUSE_SCHEMA);
	assert_int_equal(advice(516, ""), CLICKHOUSE_DENIED);
	assert_int_equal(advice(123456, ""), CLICKHOUSE_FAULT);
}

TEST(codes_with_two_meanings_are_told_apart)
{
	static const struct {
		int code;
		const char *text;
		enum clickhouse_advice expected;
	} cases[] = {
		{241, "Memory limit (for query) exceeded: would use", CLICKHOUSE_TOO_LARGE},
		{241, "Query memory limit exceeded: would use", CLICKHOUSE_TOO_LARGE},
		{241, "Memory limit (total) exceeded: would use", CLICKHOUSE_BUSY},
		{241, "(total) memory limit exceeded: would use", CLICKHOUSE_BUSY},
		{241, "Memory limit (for user) exceeded", CLICKHOUSE_BUSY},
		{241, "User memory limit exceeded", CLICKHOUSE_BUSY},
		{241, "Memory limit (for merges) exceeded", CLICKHOUSE_BUSY},
		{252, "Too many parts (300). Merges are processing", CLICKHOUSE_BUSY},
		{252, "Too many partitions for single INSERT block (more than 100)",
		 CLICKHOUSE_TOO_LARGE},
		{164, "Cannot modify 'max_threads' setting in readonly mode", CLICKHOUSE_SETTING},
		{164, "default: Cannot execute query in readonly mode", CLICKHOUSE_DENIED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(advice(cases[i].code, cases[i].text), cases[i].expected);
}

TEST(failures_of_others_do_not_count_against_rows)
{
	static const struct {
		int code;
		const char *text;
		enum clickhouse_advice expected;
	} cases[] = {
		{32, "Attempt to read after eof: (at row 1)", CLICKHOUSE_REFUSED},
		{32,
		 "Code: 32. DB::Exception: Attempt to read after eof: while receiving packet from "
		 "ch-2:9000. (ATTEMPT_TO_READ_AFTER_EOF)",
		 CLICKHOUSE_ELSEWHERE},
		{33, "Code: 33. DB::Exception: Received from ch-2:9000. DB::Exception: Cannot read",
		 CLICKHOUSE_ELSEWHERE},
		{241,
		 "Code: 241. DB::Exception: Received from ch-2:9000. DB::Exception: Query memory "
		 "limit exceeded",
		 CLICKHOUSE_ELSEWHERE},
		{6, "Cannot parse string 'a' as UInt64: while pushing to view coroot.theirs (1-2)",
		 CLICKHOUSE_FAULT},
		{241, "Query memory limit exceeded: while pushing to view coroot.theirs",
		 CLICKHOUSE_FAULT},
		{60, "Table coroot.theirs does not exist: while pushing to view coroot.theirs_mv",
		 CLICKHOUSE_FAULT},
		{60,
		 "Table coroot.profiling_profiles does not exist: while pushing to view "
		 "coroot.profiling_profiles_mv",
		 CLICKHOUSE_SCHEMA},
		{225, "No ZooKeeper: while pushing to view coroot.theirs", CLICKHOUSE_ELSEWHERE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(advice(cases[i].code, cases[i].text), cases[i].expected);
}

static int code(const char *text)
{
	return clickhouse_code(text, strlen(text));
}

TEST(codes_are_read_from_texts_of_all_releases)
{
	assert_int_equal(code("Code: 60. DB::Exception: Table"), 60);
	assert_int_equal(code("Code: 516, e.displayText() = DB::Exception"), 516);
	assert_int_equal(code("rows\nCode: 241. DB::Exception"), 241);
	assert_int_equal(code("some Code: 241. DB::Exception"), 0);
	assert_int_equal(code("Code: 60"), 0);
	assert_int_equal(code("Code: x."), 0);
	assert_int_equal(code("Code: 99999999999."), 0);
	assert_int_equal(code(""), 0);
}

#define END "\r\n__exception__\r\nabcdefgh\r\nCode: 395. Oh\r\n14 abcdefgh\r\n__exception__\r\n"

TEST(an_exception_at_the_end_of_an_answer_is_found)
{
	static const char whole[] = "rows" END;
	const char *text;
	size_t len;

	assert_true(clickhouse_find_trailer(whole, strlen(whole), "abcdefgh", &text, &len));
	assert_int_equal(len, strlen("Code: 395. Oh"));
	assert_memory_equal(text, "Code: 395. Oh", len);
	assert_false(clickhouse_find_trailer(whole, strlen(whole), "abcdefgi", &text, &len));
	assert_false(clickhouse_find_trailer(whole, strlen(whole), "", &text, &len));
	for (size_t n = 0; n < strlen(whole); n++)
		assert_false(clickhouse_find_trailer(whole, n, "abcdefgh", &text, &len));
}

TEST(an_answer_may_contain_the_mark)
{
	static const char answer[] = "__exception__\r\n abcdefgh\r\n__exception__\r\n";
	const char *text;
	size_t len;

	assert_false(clickhouse_find_trailer(answer, strlen(answer), "abcdefgh", &text, &len));
}
