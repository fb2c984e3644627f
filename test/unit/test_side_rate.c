#include <math.h>

#include "cluster-agent/query/read/side_rate.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define S ((int64_t)NS_PER_S)
#define T0 (INT64_C(1700000000) * S)
/* profiles of a minute and of one core, from one second after T0 to another one */
#define RAN(from, to)                                                                            \
	{                                                                                        \
		(double)((to) - (from)), ((to) - (from)) * S, T0 + (from)*S, T0 + (to)*S, 60 * S \
	}

static void assert_factor(const struct side_part *parts, size_t n, double expected)
{
	double is = side_rate_edge_factor(parts, n);

	if (!(fabs(is - expected) < 1e-9))
		fail_msg("%g is not %g", is, expected);
}

TEST(what_an_instance_lacks_at_the_ends_is_added)
{
	const struct side_part parts[] = {RAN(0, 900), RAN(20, 870), RAN(0, 810)};

	assert_factor(parts, 1, 1);
	/* all three ran for 900 s */
	assert_factor(parts, 3, 2700.0 / (900 + 850 + 810));
}

TEST(an_instance_that_lacks_more_has_started_or_ended)
{
	const struct side_part parts[] = {RAN(0, 900), RAN(450, 900), RAN(0, 500), RAN(100, 809)};

	assert_factor(parts, 4, 1);
}

TEST(no_instance_counts_for_more_than_twice_what_it_has)
{
	const struct side_part parts[] = {RAN(0, 70), RAN(50, 60), RAN(0, 0)};

	/* the second one lacks 60 s, and has 10 */
	assert_factor(parts, 3, 90.0 / 80);
	assert_factor(NULL, 0, 1);
	assert_factor(&parts[2], 1, 1);
}

TEST(the_time_of_a_total_is_that_of_its_rate)
{
	struct side_time time = {0};

	assert_int_equal(side_time_ns(&time), 0);
	time.covered_ns = 5e9;
	assert_int_equal(side_time_ns(&time), 5 * S);
	time.total = 12e9;
	time.rate = 4;
	assert_int_equal(side_time_ns(&time), 3 * S);
}
