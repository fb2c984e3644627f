#include "common/text/secret.h"
#include "test/lib/unit.h"

TEST(only_the_whole_secret_is_equal)
{
	assert_true(secret_equal("key", "key"));
	assert_false(secret_equal("kez", "key"));
	assert_false(secret_equal("aey", "key"));
	assert_false(secret_equal("ke", "key"));
	assert_false(secret_equal("keys", "key"));
	assert_false(secret_equal("keykey", "key"));
}

TEST(nothing_is_equal_to_no_text)
{
	assert_false(secret_equal("", "key"));
	assert_false(secret_equal("key", ""));
	assert_false(secret_equal(NULL, "key"));
	assert_false(secret_equal(NULL, ""));
}
