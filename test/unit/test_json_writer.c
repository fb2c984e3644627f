#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "common/text/json_writer.h"
#include "test/lib/unit.h"

static void write_string(struct buf *out, const char *s, size_t len)
{
	struct json_writer w;

	json_writer_init(&w, out);
	json_put_string(&w, s, len);
	assert_int_equal(json_writer_finish(&w), 0);
}

TEST(commas_are_put_where_they_belong)
{
	CLEANUP(buf_fini) struct buf b;
	struct json_writer w;

	buf_init(&b, 1000);
	json_writer_init(&w, &b);
	json_open(&w, '{');
	json_key(&w, "a");
	json_open(&w, '[');
	json_put_int(&w, 1);
	json_put_int(&w, INT64_MIN);
	json_put_null(&w);
	json_open(&w, '{');
	json_close(&w, '}');
	json_close(&w, ']');
	json_key(&w, "b");
	json_put_bool(&w, true);
	json_key(&w, "c");
	json_put_bool(&w, false);
	json_member_text(&w, "d", "e");
	json_member_int(&w, "f", -7);
	json_close(&w, '}');
	assert_int_equal(json_writer_finish(&w), 0);
	assert_string_equal(b.data, "{\"a\":[1,-9223372036854775808,null,{}],\"b\":true,"
				    "\"c\":false,\"d\":\"e\",\"f\":-7}");
}

TEST(numbers_are_short_and_finite)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = {
		{0.71, "0.71"},
		{1e9, "1000000000"},
		{-3, "-3"},
		{1e300, "1e+300"},
		{0.5, "0.5"},
		{(double)NAN, "null"},
		{(double)INFINITY, "null"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_fini) struct buf b;
		struct json_writer w;

		buf_init(&b, 100);
		json_writer_init(&w, &b);
		json_put_double(&w, cases[i].v);
		assert_int_equal(json_writer_finish(&w), 0);
		assert_string_equal(b.data, cases[i].text);
	}
}

TEST(what_is_not_utf8_is_replaced)
{
	static const struct {
		const char *in;
		const char *out;
	} cases[] = {
		{"q\"b\\n\n\x01\x7f", "\"q\\\"b\\\\n\\u000a\\u0001\\u007f\""},
		{"äß€😀", "\"äß€😀\""},
		{"\x80", "\"\xef\xbf\xbd\""},
		{"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong */
		{"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* surrogate */
		{"a\xe2\x82", "\"a\xef\xbf\xbd\xef\xbf\xbd\""},               /* cut short */
		{"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_fini) struct buf b;

		buf_init(&b, 100);
		write_string(&b, cases[i].in, strlen(cases[i].in));
		assert_string_equal(b.data, cases[i].out);
	}
}

TEST(any_two_bytes_make_valid_json)
{
	for (unsigned c = 0; c < 65536; c++) {
		CLEANUP(buf_fini) struct buf b;
		char text[2] = {(char)(c >> 8), (char)c};
		json_t *parsed;

		buf_init(&b, 100);
		write_string(&b, text, 2);
		parsed = json_loadb(b.data, b.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(parsed);
		json_decref(parsed);
	}
}

TEST(the_first_failure_stays)
{
	CLEANUP(buf_fini) struct buf b;
	struct json_writer w;

	buf_init(&b, 4);
	json_writer_init(&w, &b);
	json_put_string(&w, "too long", 8);
	json_put_int(&w, 1);
	assert_int_equal(json_writer_finish(&w), -EFBIG);
}
