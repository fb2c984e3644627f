#include <errno.h>

#include "common/err.h"
#include "test/lib/unit.h"

static void wrap_puts_the_context_in_front(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(err_wrap(&err, err_set(&err, -ENOENT, "no symtab"), "load %s", "/bin/x"),
			 -ENOENT);
	assert_string_equal(err.msg, "load /bin/x: no symtab");
}

static void null_err_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, -EIO, "ignored"), -EIO);
}

static void a_long_message_is_marked_as_cut(void **state)
{
	struct err err = {""};

	(void)state;
	err_set(&err, -EIO, "%300s", "x");
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_string_equal(err.msg + sizeof(err.msg) - 4, "...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrap_puts_the_context_in_front),
		cmocka_unit_test(null_err_is_allowed),
		cmocka_unit_test(a_long_message_is_marked_as_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
