#include <errno.h>

#include "common/text/parse.h"
#include "test/lib/unit.h"

TEST(reads_sizes)
{
	static const struct {
		const char *text;
		int r;
		uint64_t value;
	} cases[] = {
		{"0", 0, 0},
		{"1024", 0, 1024},
		{"7B", 0, 7},
		{"500MB", 0, 500000000},
		{"500mb", 0, 500000000},
		{"64k", 0, 64000},
		{"1GiB", 0, UINT64_C(1) << 30},
		{"2TiB", 0, UINT64_C(2) << 40},
		{"16777216TiB", -ERANGE, 0},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"MB", -EINVAL, 0},
		{"1.5GB", -EINVAL, 0},
		{"1 GB", -EINVAL, 0},
		{"1Gi", -EINVAL, 0},
		{"1GBs", -EINVAL, 0},
		{"1iB", -EINVAL, 0},
		{"1x", -EINVAL, 0},
		{"-1", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t v = 12345;

		assert_int_equal(parse_size(cases[i].text, strlen(cases[i].text), &v), cases[i].r);
		assert_true(v == (cases[i].r == 0 ? cases[i].value : 12345));
	}
}

TEST(reads_numbers_within_their_range)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		int r;
		uint64_t value;
	} cases[] = {
		{"0", 0, 10, 0, 0},
		{"10", 0, 10, 0, 10},
		{"007", 0, 10, 0, 7},
		{"18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX},
		{"11", 0, 10, -ERANGE, 0},
		{"0", 1, 10, -ERANGE, 0},
		{"18446744073709551616", 0, UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999999999", 0, UINT64_MAX, -ERANGE, 0},
		{"", 0, 10, -EINVAL, 0},
		{" 1", 0, 10, -EINVAL, 0},
		{"1 ", 0, 10, -EINVAL, 0},
		{"+1", 0, 10, -EINVAL, 0},
		{"-1", 0, 10, -EINVAL, 0},
		{"0x1", 0, 10, -EINVAL, 0},
		{"1.0", 0, 10, -EINVAL, 0},
		{"99999999999999999999999999x", 0, 10, -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t v = 12345;
		int r = parse_u64(cases[i].text, strlen(cases[i].text), cases[i].min, cases[i].max,
				  &v);

		assert_int_equal(r, cases[i].r);
		assert_true(v == (r == 0 ? cases[i].value : 12345));
	}
}

TEST(reads_no_further_than_the_given_length)
{
	uint64_t v;
	bool b;

	assert_int_equal(parse_u64("123456", 3, 0, 1000, &v), 0);
	assert_int_equal(v, 123);
	assert_int_equal(parse_duration("5s0", 2, &v), 0);
	assert_true(v == UINT64_C(5000000000));
	assert_int_equal(parse_bool("online", 2, &b), 0);
	assert_true(b);
}

TEST(reads_durations)
{
	static const struct {
		const char *text;
		int r;
		uint64_t ns;
	} cases[] = {
		{"90s", 0, UINT64_C(90000000000)},
		{"1m30s", 0, UINT64_C(90000000000)},
		{"1.5h", 0, UINT64_C(5400000000000)},
		{"500ms", 0, 500000000},
		{"7d", 0, UINT64_C(604800000000000)},
		{"0", 0, 0},
		{"0s", 0, 0},
		{"3us", 0, 3000},
		{"17ns", 0, 17},
		{"0.000000001s", 0, 1},
		{"0.33333333333333333333333333s", 0, 333333333},
		{"18446744073709551615ns", 0, UINT64_MAX},
		{"18446744073709551616ns", -ERANGE, 0},
		{"18446744073709551615ns1ns", -ERANGE, 0},
		{"18446744073709551615d18446744073709551615d", -ERANGE, 0},
		{"213504d", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"00", -EINVAL, 0},
		{"90", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{".5s", -EINVAL, 0},
		{"1.s", -EINVAL, 0},
		{"1.", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"1 s", -EINVAL, 0},
		{"1s ", -EINVAL, 0},
		{"1S", -EINVAL, 0},
		{"1min", -EINVAL, 0},
		{"1h30", -EINVAL, 0},
		{"99999999999999999999dx", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = 12345;
		int r = parse_duration(cases[i].text, strlen(cases[i].text), &ns);

		assert_int_equal(r, cases[i].r);
		assert_true(ns == (r == 0 ? cases[i].ns : 12345));
	}
}

TEST(reads_decimal_numbers)
{
	static const struct {
		const char *text;
		double value;
	} good[] = {
		{"0", 0},       {"7", 7},       {"+7", 7},     {"-1.5", -1.5},
		{".5", .5},     {"5.", 5},      {"1e3", 1000}, {"1E+3", 1e3},
		{"25e-1", 2.5}, {"99.5", 99.5}, {"-0.0", -0.}, {"1e-400", 0.},
	};
	static const char *const bad[] = {
		"",    "+",    ".",   "e3",  "1e", "1e+", "1.2.3",
		"1,5", "0x10", "inf", "nan", " 1", "1 ",  "--1",
	};
	double v;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse_real(good[i].text, strlen(good[i].text), &v), 0);
		assert_true(v == good[i].value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse_real(bad[i], strlen(bad[i]), &v), -EINVAL);
	assert_int_equal(parse_real("1e400", 5, &v), -ERANGE);
	assert_int_equal(parse_real("12", 1, &v), 0);
	assert_true(v == 1);
}

TEST(reads_the_words_of_truth)
{
	static const char *const yes[] = {"true", "1", "yes", "on", "True", "YES"};
	static const char *const no[] = {"false", "0", "no", "off", "FALSE"};
	static const char *const neither[] = {"", "t", "2", "truee", "tru", "true ", "y", "null"};
	bool b;

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		b = false;
		assert_int_equal(parse_bool(yes[i], strlen(yes[i]), &b), 0);
		assert_true(b);
	}
	for (size_t i = 0; i < ARRAY_SIZE(no); i++) {
		b = true;
		assert_int_equal(parse_bool(no[i], strlen(no[i]), &b), 0);
		assert_false(b);
	}
	for (size_t i = 0; i < ARRAY_SIZE(neither); i++)
		assert_int_equal(parse_bool(neither[i], strlen(neither[i]), &b), -EINVAL);
}
