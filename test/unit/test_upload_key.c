#include "common/upload/upload_item.h"
#include "test/lib/unit.h"

TEST(keys_are_valid_and_differ)
{
	struct upload_key keys[100];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		upload_key_make(&keys[i]);
		assert_true(upload_key_is_valid(keys[i].text, strlen(keys[i].text)));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(keys[k].text, keys[i].text);
	}
}

TEST(what_is_not_32_hex_digits_is_no_key)
{
	static const char *const bad[] = {
		"",
		"0123456789abcdef0123456789abcde",   /* 31 */
		"0123456789abcdef0123456789abcdef0", /* 33 */
		"0123456789abcdef0123456789abcdeg",
		"0123456789ABCDEF0123456789ABCDEF",
		"0123456789abcdef 123456789abcdef",
	};

	assert_true(upload_key_is_valid("0123456789abcdef0123456789abcdef", 32));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(upload_key_is_valid(bad[i], strlen(bad[i])));
}
