#include "common/http/backoff.h"
#include "test/lib/unit.h"

TEST(the_ceiling_doubles_from_floor_to_maximum)
{
	static const uint64_t caps[] = {100, 200, 400, 800, 1000, 1000, 1000};

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct backoff b = {.min_ns = 100, .max_ns = 1000, .random = seed};

		for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
			assert_in_range(backoff_next_ns(&b), caps[i] / 2, caps[i]);
	}
}

TEST(delays_are_spread_over_the_whole_range)
{
	struct backoff b = {.min_ns = 1000, .max_ns = 1000};
	uint64_t lowest = UINT64_MAX, highest = 0;

	for (int i = 0; i < 1000; i++) {
		uint64_t d = backoff_next_ns(&b);

		lowest = d < lowest ? d : lowest;
		highest = d > highest ? d : highest;
	}
	assert_in_range(lowest, 500, 520);
	assert_in_range(highest, 980, 1000);
}

TEST(reset_starts_over_from_the_floor)
{
	struct backoff b = {.min_ns = 100, .max_ns = 100000};

	for (int i = 0; i < 8; i++)
		(void)backoff_next_ns(&b);
	backoff_reset(&b);
	assert_in_range(backoff_next_ns(&b), 50, 100);
}

TEST(extreme_bounds_do_not_overflow)
{
	struct backoff widest = {.min_ns = UINT64_MAX / 2 + 1, .max_ns = UINT64_MAX};
	struct backoff swapped = {.min_ns = 1000, .max_ns = 10};

	(void)backoff_next_ns(&widest);
	assert_true(backoff_next_ns(&widest) >= UINT64_MAX / 2);
	assert_in_range(backoff_next_ns(&swapped), 5, 10);
}
