#include <elf.h>
#include <math.h>
#include <time.h>

#include "node-agent/go/lock/tick_clock.h"
#include "test/lib/unit.h"

static void test_arm64_counts_nanoseconds(void **state)
{
	struct tick_clock c;

	(void)state;
	tick_clock_init(&c);
	assert_true(tick_clock_ns_per_tick(&c, EM_AARCH64) == 1);
	assert_true(tick_clock_ns_per_tick(&c, EM_386) == 0);
}

/*
 * Two clocks that begin at other times agree, and either measures an interval as the kernel
 * does.
 */
static void test_the_counter_of_amd64_is_measured(void **state)
{
	struct tick_clock a, b;
	double first, second;

	(void)state;
	tick_clock_init(&a);
	first = tick_clock_ns_per_tick(&a, EM_X86_64);
#ifdef __x86_64__
	assert_true(first > 0.05 && first < 5);
	nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
	tick_clock_init(&b);
	second = tick_clock_ns_per_tick(&b, EM_X86_64);
	assert_true(fabs(first / second - 1) < 0.005);
	assert_true(fabs(tick_clock_ns_per_tick(&a, EM_X86_64) / second - 1) < 0.005);
#else
	(void)b;
	(void)second;
	assert_true(first == 0);
#endif
}

#ifdef __x86_64__

/*
 * The counter advanced during suspend and the clock did not. The counter's first value is made
 * smaller by a part of itself, because it may be small: it starts at zero with the machine.
 */
static void test_the_measurement_starts_over_after_a_suspend(void **state)
{
	struct tick_clock awake, slept;
	double ns_per_tick;

	(void)state;
	tick_clock_init(&awake);
	ns_per_tick = tick_clock_ns_per_tick(&awake, EM_X86_64);
	slept = awake;
	slept.first_ticks /= 2;
	assert_true(tick_clock_ns_per_tick(&slept, EM_X86_64) < ns_per_tick / 2);
	slept.asleep_ns -= UINT64_C(1000000000000);
	assert_true(fabs(tick_clock_ns_per_tick(&slept, EM_X86_64) / ns_per_tick - 1) < 0.005);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arm64_counts_nanoseconds),
		cmocka_unit_test(test_the_counter_of_amd64_is_measured),
#ifdef __x86_64__
		cmocka_unit_test(test_the_measurement_starts_over_after_a_suspend),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
