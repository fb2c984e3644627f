#include "common/system/clock.h"
#include "test/lib/unit.h"

TEST(monotonic_time_goes_forward_in_nanoseconds)
{
	uint64_t before = clock_monotonic_ns(), after;

	usleep(2000);
	after = clock_monotonic_ns();
	assert_true(after - before >= 2 * NS_PER_MS);
	assert_true(after - before < 600 * NS_PER_S);
}

TEST(real_time_counts_from_the_epoch)
{
	uint64_t now_ns = clock_realtime_ns();
	time_t now_s = time(NULL);

	assert_in_range(now_ns / NS_PER_S, (uint64_t)now_s - 60, (uint64_t)now_s + 60);
}

TEST(boot_time_is_monotonic_time_and_more)
{
	uint64_t monotonic_ns = clock_monotonic_ns();
	uint64_t before = clock_boottime_ns();

	assert_true(before >= monotonic_ns);
	usleep(2000);
	assert_true(clock_boottime_ns() - before >= 2 * NS_PER_MS);
}

/* Waiting costs a quarter of the time, at least; nothing costs more than the time that passes. */
TEST(effort_counts_work_more_than_waiting)
{
	uint64_t before_ns = clock_monotonic_ns(), effort_ns = clock_effort_ns();

	usleep(50000);
	effort_ns = clock_effort_ns() - effort_ns;
	assert_true(effort_ns >= 50 * NS_PER_MS / 4);
	assert_true(effort_ns <= clock_monotonic_ns() - before_ns);
}

TEST(effort_is_at_least_the_work)
{
	uint64_t effort_ns = clock_effort_ns(), cpu_ns = clock_thread_cpu_ns(), worked_ns;

	do
		worked_ns = clock_thread_cpu_ns() - cpu_ns;
	while (worked_ns < 20 * NS_PER_MS);
	/* the two clocks need not run equally fast: only one follows the time servers */
	assert_true(clock_effort_ns() - effort_ns >= worked_ns * 9 / 10);
}
