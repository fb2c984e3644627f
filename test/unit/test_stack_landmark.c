#include "node-agent/profile/stack_landmark.h"
#include "test/lib/unit.h"

TEST(start_up_code_is_a_root)
{
	static const char *const roots[] = {"_start",   "main",           "start_thread",
					    "__clone3", "runtime.goexit", "runtime.mstart.abi0"};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		assert_true(stack_is_root(roots[i]));
}

TEST(what_somebody_calls_is_not)
{
	static const char *const others[] = {"main.main", "runtime.main", "", "mainloop",
					     "libc.so.6+0x1"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(stack_is_root(others[i]));
}

TEST(what_handlers_return_to_is_known)
{
	assert_true(stack_is_signal_return("__restore_rt"));
	assert_true(stack_is_signal_return("runtime.sigreturn__sigaction.abi0"));
	assert_false(stack_is_signal_return("restore_rt"));
}

TEST(what_changes_stacks_is_known)
{
	assert_true(stack_is_switch("runtime.systemstack"));
	assert_true(stack_is_switch("runtime.systemstack.abi0"));
	assert_true(stack_is_switch("runtime.nanotime1.abi0"));
	assert_true(stack_is_switch("time.now"));
	assert_false(stack_is_switch("runtime.goexit"));
	assert_false(stack_is_switch("main.main"));
}
