#include "common/system/clock.h"
#include "test/lib/unit.h"

static void monotonic_time_goes_forward_in_nanoseconds(void **state)
{
	uint64_t before = clock_monotonic_ns(), after;

	(void)state;
	usleep(2000);
	after = clock_monotonic_ns();
	assert_true(after - before >= 2 * NS_PER_MS);
	assert_true(after - before < 600 * NS_PER_S);
}

static void real_time_counts_from_the_epoch(void **state)
{
	uint64_t now_ns = clock_realtime_ns();
	time_t now_s = time(NULL);

	(void)state;
	assert_in_range(now_ns / NS_PER_S, (uint64_t)now_s - 60, (uint64_t)now_s + 60);
}

static void boot_time_is_monotonic_time_and_more(void **state)
{
	uint64_t monotonic_ns = clock_monotonic_ns();
	uint64_t before = clock_boottime_ns();

	(void)state;
	assert_true(before >= monotonic_ns);
	usleep(2000);
	assert_true(clock_boottime_ns() - before >= 2 * NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monotonic_time_goes_forward_in_nanoseconds),
		cmocka_unit_test(boot_time_is_monotonic_time_and_more),
		cmocka_unit_test(real_time_counts_from_the_epoch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
