#include <errno.h>

#include "common/text/rfc3339.h"
#include "test/lib/unit.h"

#define S INT64_C(1000000000)

TEST(reads_what_the_rfc_allows)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"1969-12-31T23:59:59Z", -S},
		{"1969-12-31T23:59:59.75Z", -S / 4},
		{"2026-11-20T20:44:06Z", INT64_C(1795207446) * S},
		{"2026-11-20t20:44:06z", INT64_C(1795207446) * S},
		{"2026-11-20T20:44:06.123456Z", INT64_C(1795207446) * S + 123456000},
		{"2026-11-20T20:44:06.000000001Z", INT64_C(1795207446) * S + 1},
		{"2026-11-20T20:44:06.1234567899999Z", INT64_C(1795207446) * S + 123456789},
		{"2026-11-20T22:44:06+02:00", INT64_C(1795207446) * S},
		{"2026-11-20T11:14:06-09:30", INT64_C(1795207446) * S},
		{"2026-11-20T20:44:06-00:00", INT64_C(1795207446) * S},
		{"2000-02-29T00:00:00Z", INT64_C(951782400) * S},
		{"2024-02-29T00:00:00Z", INT64_C(1709164800) * S},
		{"2016-12-31T23:59:60Z", INT64_C(1483228800) * S},
		{"1677-09-21T00:12:44Z", INT64_C(-9223372036) * S},
		{"2262-04-11T23:47:16.854775807Z", INT64_MAX},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t ns = 42;

		assert_int_equal(rfc3339_parse(cases[i].text, strlen(cases[i].text), &ns), 0);
		if (ns != cases[i].ns)
			fail_msg("\"%s\" became %lld", cases[i].text, (long long)ns);
	}
}

TEST(refuses_everything_else)
{
	static const struct {
		const char *text;
		int r;
	} cases[] = {
		{"", -EINVAL},
		{"2026-11-20", -EINVAL},
		{"2026-11-20T20:44:06", -EINVAL},
		{"2026-11-20 20:44:06Z", -EINVAL},
		{"2026-11-20T20:44:06.Z", -EINVAL},
		{"2026-11-20T20:44:06,5Z", -EINVAL},
		{"2026-11-20T20:44Z", -EINVAL},
		{"2026-11-20T20:44:06Z ", -EINVAL},
		{" 2026-11-20T20:44:06Z", -EINVAL},
		{"+026-11-20T20:44:06Z", -EINVAL},
		{"26-11-20T20:44:06Z", -EINVAL},
		{"2026-00-20T20:44:06Z", -EINVAL},
		{"2026-13-20T20:44:06Z", -EINVAL},
		{"2026-11-00T20:44:06Z", -EINVAL},
		{"2026-11-31T20:44:06Z", -EINVAL},
		{"2026-02-29T20:44:06Z", -EINVAL},
		{"1900-02-29T20:44:06Z", -EINVAL},
		{"2026-11-20T24:00:00Z", -EINVAL},
		{"2026-11-20T20:60:06Z", -EINVAL},
		{"2026-11-20T20:44:61Z", -EINVAL},
		{"2026-11-20T20:44:06+2:00", -EINVAL},
		{"2026-11-20T20:44:06+0200", -EINVAL},
		{"2026-11-20T20:44:06+24:00", -EINVAL},
		{"2026-11-20T20:44:06+02:60", -EINVAL},
		{"0000-02-29T00:00:00Z", -ERANGE},
		{"0001-01-01T00:00:00Z", -ERANGE},
		{"1677-09-21T00:12:42Z", -ERANGE},
		{"2262-04-11T23:47:16.854775808Z", -ERANGE},
		{"9999-12-31T23:59:59Z", -ERANGE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t ns = 42;
		int r = rfc3339_parse(cases[i].text, strlen(cases[i].text), &ns);

		if (r != cases[i].r || ns != 42)
			fail_msg("\"%s\" gave %d", cases[i].text, r);
	}
}

TEST(reads_no_further_than_the_given_length)
{
	static const char text[] = "2026-11-20T20:44:06.5Z";
	int64_t ns;

	for (size_t len = 0; len + 1 < sizeof(text) - 1; len++) {
		/* on the heap, so that ASan sees one byte too many */
		AUTO_FREE char *part = malloc(len + 1);

		memcpy(part, text, len);
		assert_int_equal(rfc3339_parse(part, len, &ns), -EINVAL);
	}
	assert_int_equal(rfc3339_parse("1970-01-01T00:00:01Zand more", 20, &ns), 0);
	assert_true(ns == S);
}

TEST(writes_microseconds)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{0, "1970-01-01T00:00:00.000000Z"},
		{999, "1970-01-01T00:00:00.000000Z"},
		{-1, "1969-12-31T23:59:59.999999Z"},
		{INT64_C(1795207446) * S + 123456789, "2026-11-20T20:44:06.123456Z"},
		{INT64_C(951782400) * S, "2000-02-29T00:00:00.000000Z"},
		{INT64_C(1704067200) * S - 1000, "2023-12-31T23:59:59.999999Z"},
		{INT64_MIN, "1677-09-21T00:12:43.145224Z"},
		{INT64_MAX, "2262-04-11T23:47:16.854775Z"},
	};
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		rfc3339_format_us(cases[i].ns, text);
		assert_string_equal(text, cases[i].text);
	}
}

/* glibc's calendar as the judge, at steps that share no factor with days and years */
TEST(agrees_with_the_c_library)
{
	for (int64_t s = INT64_C(-9223372036); s < INT64_C(9223372036); s += 7654321) {
		char ours[32], theirs[32];
		time_t t = s;
		struct tm tm;
		int64_t ns;

		strftime(theirs, sizeof(theirs), "%Y-%m-%dT%H:%M:%S.000000Z", gmtime_r(&t, &tm));
		rfc3339_format_us(s * S, ours);
		assert_string_equal(ours, theirs);
		assert_int_equal(rfc3339_parse(ours, strlen(ours), &ns), 0);
		assert_true(ns == s * S);
	}
}
