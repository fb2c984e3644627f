#include "common/thread/stall_watch.h"
#include "test/lib/unit.h"

static void test_a_busy_thread_without_cpu_time_stands_still(void **state)
{
	struct stall_watch w;

	(void)state;
	stall_watch_init(&w, 10, 1000);
	assert_int_equal(stall_watch_poll(&w, 1010, 7, true), 0);
	assert_int_equal(stall_watch_poll(&w, 1020, 7, true), 10);
	assert_int_equal(stall_watch_poll(&w, 1025, 7, true), 15);
	assert_int_equal(stall_watch_poll(&w, 1030, 8, true), 0);
	assert_int_equal(stall_watch_poll(&w, 1040, 8, true), 10);
}

static void test_an_idle_thread_does_not(void **state)
{
	struct stall_watch w;

	(void)state;
	stall_watch_init(&w, 10, 1000);
	(void)stall_watch_poll(&w, 1010, 7, true);
	(void)stall_watch_poll(&w, 1020, 7, true);
	assert_int_equal(stall_watch_poll(&w, 1030, 7, false), 0);
	assert_int_equal(stall_watch_poll(&w, 1040, 7, true), 10);
}

/* The process was stopped, or the machine suspended: the thread has had no more time than the watch. */
static void test_time_without_a_look_counts_as_one_period(void **state)
{
	struct stall_watch w;

	(void)state;
	stall_watch_init(&w, 10, 1000);
	(void)stall_watch_poll(&w, 1010, 7, true);
	assert_int_equal(stall_watch_poll(&w, 900000, 7, true), 10);
	assert_int_equal(stall_watch_poll(&w, 900010, 7, true), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_busy_thread_without_cpu_time_stands_still),
		cmocka_unit_test(test_an_idle_thread_does_not),
		cmocka_unit_test(test_time_without_a_look_counts_as_one_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
