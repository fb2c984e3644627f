#include <errno.h>
#include <math.h>
#include <regex.h>

#include "cluster-agent/operator/spec/spec_values.h"
#include "test/lib/unit.h"

TEST(quantities_have_the_units_of_kubernetes)
{
	static const struct {
		const char *text;
		double value;
	} right[] = {
		{"0", 0},
		{"10", 10},
		{"1.5", 1.5},
		{".5", .5},
		{"5.", 5},
		{"+1", 1},
		{"500m", .5},
		{"1n", 1e-9},
		{"1u", 1e-6},
		{"3k", 3000},
		{"10Gi", 10737418240},
		{"1.5Mi", 1572864},
		{"1Ki", 1024},
		{"2M", 2e6},
		{"4G", 4e9},
		{"5T", 5e12},
		{"6P", 6e15},
		{"1E", 1e18},
		{"1Ti", 1099511627776},
		{"1Pi", 1125899906842624},
		{"1Ei", 1152921504606846976},
		{"1e3", 1000},
		{"1E3", 1000},
		{"5e-1", .5},
		{"12e+2", 1200},
	};
	static const char *const wrong[] = {
		"",       "Gi",    ".",
		"-1",     "10 Gi", "10GB",
		"10gi",   "1.2.3", "1e",
		"1e1.5",  "1e+",   "0x10",
		"1e9999", "1Gi ",  " 1",
		"1,5",    "1K",    "NaN",
		"inf",    "1e-",   "10000000000000000000000000000000000000000000",
	};
	double v;

	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		assert_int_equal(spec_quantity(right[i].text, &v), 0);
		assert_true(fabs(v - right[i].value) <= 1e-9 * right[i].value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(spec_quantity(wrong[i], &v), -EINVAL);
}

TEST(times_to_live_have_units_from_minutes_to_years)
{
	uint64_t s;

	assert_int_equal(spec_ttl_seconds("90m", &s), 0);
	assert_int_equal(s, 5400);
	assert_int_equal(spec_ttl_seconds("4h", &s), 0);
	assert_int_equal(s, 14400);
	assert_int_equal(spec_ttl_seconds("3d", &s), 0);
	assert_int_equal(s, 259200);
	assert_int_equal(spec_ttl_seconds("2w", &s), 0);
	assert_int_equal(s, 1209600);
	assert_int_equal(spec_ttl_seconds("1y", &s), 0);
	assert_int_equal(s, 31536000);
	assert_int_equal(spec_ttl_seconds("7", &s), -EINVAL);
	assert_int_equal(spec_ttl_seconds("7s", &s), -EINVAL);
	assert_int_equal(spec_ttl_seconds("d", &s), -EINVAL);
	assert_int_equal(spec_ttl_seconds("1h30m", &s), -EINVAL);
	assert_int_equal(spec_ttl_seconds("99999999999999999999y", &s), -ERANGE);
}

/* Texts up to the NULL that fit a rule, then those that do not. */
static const struct {
	const struct text_rule *rule;
	const char *texts[24];
} cases[] = {
	{&text_interval, {"15s", "1m", "0s", NULL, "15", "s", "15h", "1m30s", " 1s", "1s\n"}},
	{&text_ttl, {"7d", "30m", "1y", NULL, "7", "7s", "-7d", "7dd", "7D"}},
	{&text_http_url,
	 {"http://a", "https://a.b:8080/c/", "http://[::1]:80", NULL, "a", "ftp://a", "http://",
	  "http:///a", "http://a b", "HTTP://a", "http://a\n", "http://\xc3\xa4", "http://a\"b"}},
	{&text_s3_url, {"https://s3/b/", NULL, "s3://b", "https://s3/<a>", "https://s3/\\"}},
	{&text_url_path,
	 {"/", "/a", "a", "a/b/", "/a-b_c.d~e", NULL, "/a?b", "/a#b", "//a", "/a//b", "/a b",
	  "/%2e"}},
	{&text_fraction,
	 {"0", "0.1", "1", "1.0", "0.25", NULL, "1.1", ".5", "-0.1", "1e-1", "100m", "a", "0.1.2"}},
	{&text_key, {"a", "a b", "~!", NULL, " a", "a ", "a\tb", "\xc3\xa4"}},
	{&text_printable, {"a", "a b", "\xc3\xa4", NULL, "a\nb", "a\x7f", "\x01"}},
	{&text_word, {"eu-west-1", NULL, "a b", "a\t", "\xc3\xa4"}},
	{&text_image,
	 {"a", "a/b:c", "r.example.com:5000/a/b@sha256:00ff", NULL, "a b", "a;b", "$(a)", "a\n"}},
	{&text_dns_name,
	 {"a", "a-b", "a.b", "1", "a--b", NULL, "A", "a_b", "-a", "a-", ".a", "a.", "a..b", "a.-b",
	  "a-.b", "a/b", "../a", "a b"}},
	{&text_secret_key,
	 {"tls.crt", "KEY_1", ".dockerconfigjson", "-", NULL, ".", "..", "..data", "a/b", "a b",
	  "\xc3\xa4"}},
	{&text_env_name, {"A", "a.b-C_1", "_", "-a", NULL, "1A", "A=B", "A B", "", ".", "..a"}},
	{&text_addresses,
	 {"a", "a:9000", "http://a:8123/", "a:8123,b:8123", NULL, "a;b", "a:0", "a:port", ","}},
};

TEST(texts_are_checked_by_rules)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const *text = cases[i].texts;

		for (; *text; text++) {
			if (!cases[i].rule->fits(*text))
				fail_msg("\"%s\" is not %s", *text, cases[i].rule->what);
		}
		for (text++; *text; text++) {
			if (cases[i].rule->fits(*text))
				fail_msg("\"%s\" is %s", *text, cases[i].rule->what);
		}
		assert_false(cases[i].rule->fits(""));
	}
}

TEST(rules_allow_nothing_that_their_pattern_refuses)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		regex_t pattern;

		if (!cases[i].rule->pattern)
			continue;
		assert_int_equal(regcomp(&pattern, cases[i].rule->pattern, REG_EXTENDED), 0);
		for (const char *const *text = cases[i].texts; *text; text++)
			assert_int_equal(regexec(&pattern, *text, 0, NULL, 0), 0);
		regfree(&pattern);
	}
}

TEST(lengths_are_limited)
{
	char text[4096];

	memset(text, 'a', sizeof(text));
	text[511] = '\0';
	assert_true(text_key.fits(text));
	text[511] = 'a';
	text[512] = '\0';
	assert_false(text_key.fits(text));
	assert_false(text_dns_name.fits(text));
	assert_false(text_secret_key.fits(text));
	assert_false(text_env_name.fits(text));
	text[253] = '\0';
	assert_true(text_dns_name.fits(text));
	assert_true(text_secret_key.fits(text));
	text[253] = 'a';
	text[512] = 'a';
	text[4095] = '\0';
	assert_false(text_printable.fits(text));
	assert_false(text_word.fits(text));
	assert_false(text_image.fits(text));
	assert_false(text_url_path.fits(text));
	memcpy(text, "http://", 7);
	assert_false(text_http_url.fits(text));
}
