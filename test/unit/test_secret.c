#include "common/text/secret.h"
#include "test/lib/unit.h"

static void only_the_whole_secret_is_equal(void **state)
{
	(void)state;
	assert_true(secret_equal("key", "key"));
	assert_false(secret_equal("kez", "key"));
	assert_false(secret_equal("aey", "key"));
	assert_false(secret_equal("ke", "key"));
	assert_false(secret_equal("keys", "key"));
	assert_false(secret_equal("keykey", "key"));
}

static void nothing_is_equal_to_no_text(void **state)
{
	(void)state;
	assert_false(secret_equal("", "key"));
	assert_false(secret_equal("key", ""));
	assert_false(secret_equal(NULL, "key"));
	assert_false(secret_equal(NULL, ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_whole_secret_is_equal),
		cmocka_unit_test(nothing_is_equal_to_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
