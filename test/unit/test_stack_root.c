#include "node-agent/profile/stack_root.h"
#include "test/lib/unit.h"

static void start_up_code_is_a_root(void **state)
{
	static const char *const roots[] = {"_start",   "main",           "start_thread",
					    "__clone3", "runtime.goexit", "runtime.mstart.abi0"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		assert_true(stack_root_is(roots[i]));
}

static void what_somebody_calls_is_not(void **state)
{
	static const char *const others[] = {"main.main", "runtime.main", "", "mainloop",
					     "libc.so.6+0x1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(stack_root_is(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_up_code_is_a_root),
		cmocka_unit_test(what_somebody_calls_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
