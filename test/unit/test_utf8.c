#include "common/text/utf8.h"
#include "test/lib/unit.h"

TEST(what_is_not_utf8_becomes_question_marks)
{
	static const struct {
		const char *text;
		const char *repaired;
	} cases[] = {
		{"", ""},
		{"/process/a b", "/process/a b"},
		{"\xc3\xbc \xe2\x98\x83 \xf0\x9f\x94\xa5",
		 "\xc3\xbc \xe2\x98\x83 \xf0\x9f\x94\xa5"},
		{"f\xfcr", "f?r"},
		{"\xff\xfe", "??"},
		{"\xc3", "?"},
		{"\xe2\x98", "??"},
		{"\xc0\xaf", "??"},           /* overlong */
		{"\xed\xa0\x80", "???"},      /* surrogate */
		{"\xf4\x90\x80\x80", "????"}, /* above U+10FFFF */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[64];
		size_t len = strlen(cases[i].text);

		memcpy(text, cases[i].text, len + 1);
		assert_int_equal(utf8_is_valid(text, len),
				 strcmp(cases[i].text, cases[i].repaired) == 0);
		utf8_repair(text, len);
		assert_string_equal(text, cases[i].repaired);
		assert_true(utf8_is_valid(text, len));
	}
}
