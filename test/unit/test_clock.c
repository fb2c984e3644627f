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
