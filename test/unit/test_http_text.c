#include "common/http/http_text.h"
#include "test/lib/unit.h"

TEST(percent_sequences_are_decoded_in_place)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"", ""},
		{"plain", "plain"},
		{"%2Fa%2fb%20c", "/a/b c"},
		{"%c3%A4", "\xc3\xa4"},
		{"100%", "100%"},
		{"%4", "%4"},
		{"%zz%4g%g4", "%zz%4g%g4"},
		{"a%00b", "a%00b"},
		{"%2541", "%41"},
		{"%%41", "%A"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[32];

		snprintf(text, sizeof(text), "%s", cases[i].in);
		assert_int_equal(http_percent_decode(text), strlen(cases[i].out));
		assert_string_equal(text, cases[i].out);
	}
}

TEST(accept_encoding_is_understood)
{
	static const char *const yes[] = {"gzip",      "GZIP",          "deflate, gzip",
					  "br,gzip",   "gzip;q=0.5",    "gzip; q=0.001",
					  "*",         "identity, *",   "gzip;q=1, *;q=0",
					  " ,,  gzip", "br;q=0, gzip ", "*;q=0, gzip"};
	static const char *const no[] = {"",          "identity",   "gzip;q=0", "gzip; q=0.000",
					 "gzip;Q=0.", "x-gzipped",  "*;q=0",    "*, gzip;q=0",
					 "gzipx",     "deflate, br"};

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(http_accepts(yes[i], "gzip"));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(http_accepts(no[i], "gzip"));
	assert_false(http_accepts(NULL, "gzip"));
}
