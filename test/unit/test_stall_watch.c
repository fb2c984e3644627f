#include "common/thread/stall_watch.h"
#include "test/lib/unit.h"

TEST(test_a_busy_thread_without_cpu_time_is_stalled)
{
	struct stall_watch w;

	stall_watch_init(&w, 10, 1000);
	assert_int_equal(stall_watch_poll(&w, 1010, 7, true), 0);
	assert_int_equal(stall_watch_poll(&w, 1020, 7, true), 10);
	assert_int_equal(stall_watch_poll(&w, 1025, 7, true), 15);
	assert_int_equal(stall_watch_poll(&w, 1030, 8, true), 0);
	assert_int_equal(stall_watch_poll(&w, 1040, 8, true), 10);
}

TEST(test_an_idle_thread_is_not_stalled)
{
	struct stall_watch w;

	stall_watch_init(&w, 10, 1000);
	(void)stall_watch_poll(&w, 1010, 7, true);
	(void)stall_watch_poll(&w, 1020, 7, true);
	assert_int_equal(stall_watch_poll(&w, 1030, 7, false), 0);
	assert_int_equal(stall_watch_poll(&w, 1040, 7, true), 10);
}

/* The process was stopped, or the machine suspended, and the thread could not run either. */
TEST(test_a_late_poll_counts_as_one_period)
{
	struct stall_watch w;

	stall_watch_init(&w, 10, 1000);
	(void)stall_watch_poll(&w, 1010, 7, true);
	assert_int_equal(stall_watch_poll(&w, 900000, 7, true), 10);
	assert_int_equal(stall_watch_poll(&w, 900010, 7, true), 20);
}
