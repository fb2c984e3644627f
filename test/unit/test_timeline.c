#include <math.h>

#include "cluster-agent/query/read/timeline.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define S ((int64_t)NS_PER_S)
#define T0 (INT64_C(1700000000) * S)

static void assert_near(double is, double expected, double tolerance)
{
	if (!(fabs(is - expected) <= tolerance))
		fail_msg("%g is not %g", is, expected);
}

static void fill(struct timeline_step *steps, uint32_t n, enum profile_aggregation aggregation,
		 struct timeline_window *w, size_t n_windows)
{
	struct timeline t = {
		.from_ns = T0,
		.step_ns = 10 * S,
		.n_steps = n,
		.aggregation = aggregation,
		.steps = steps,
	};

	timeline_fill(&t, w, n_windows);
}

TEST(a_value_is_spread_over_its_window)
{
	struct timeline_step steps[4];
	/* 30 s of CPU within 30 s, from the middle of the first step */
	struct timeline_window w[] = {{T0 + 5 * S, T0 + 35 * S, 30 * S}};

	fill(steps, 4, PROFILE_AGGREGATION_SUM, w, 1);
	for (int i = 0; i < 4; i++)
		assert_near(steps[i].value, 1e9, 1);
	assert_near(steps[0].covered_ns, 5e9, 1);
	assert_near(steps[1].covered_ns, 10e9, 1);
}

TEST(what_overlaps_adds_up)
{
	struct timeline_step steps[2];
	/* two instances at half a core each, the second for half of the time */
	struct timeline_window w[] = {{T0 + 10 * S, T0 + 20 * S, 5 * S},
				      {T0, T0 + 10 * S, 5 * S},
				      {T0 + 5 * S, T0 + 15 * S, 5 * S}};

	fill(steps, 2, PROFILE_AGGREGATION_SUM, w, 3);
	assert_near(steps[0].value, 0.75e9, 1);
	assert_near(steps[1].value, 0.75e9, 1);
}

TEST(a_step_without_profiles_has_no_value)
{
	struct timeline_step steps[3];
	struct timeline_window w[] = {{T0 + 20 * S, T0 + 30 * S, 0},
				      {T0 - 20 * S, T0, 7 * S},
				      {T0 + 30 * S, T0 + 40 * S, 7 * S}};

	fill(steps, 3, PROFILE_AGGREGATION_SUM, w, 3);
	assert_true(isnan(steps[0].value));
	assert_true(isnan(steps[1].value));
	assert_near(steps[2].value, 0, 0);
	fill(steps, 3, PROFILE_AGGREGATION_SUM, NULL, 0);
	assert_true(isnan(steps[2].value));
}

TEST(a_level_is_averaged_over_time_and_added_over_instances)
{
	struct timeline_step steps[2];
	struct timeline_window w[] = {{T0, T0 + 5 * S, 100},
				      {T0 + 5 * S, T0 + 10 * S, 300},
				      {T0, T0 + 10 * S, 50},
				      {T0 + 10 * S, T0 + 12 * S, 80}};

	fill(steps, 2, PROFILE_AGGREGATION_AVG, w, 4);
	assert_near(steps[0].value, 250, 1e-6);
	assert_near(steps[1].value, 80, 1e-6);
}

TEST(a_sum_without_a_duration_is_spread_over_a_second)
{
	struct timeline_step steps[2];
	struct timeline_window w[] = {{T0 + 15 * S, T0 + 15 * S, S / 2}};

	fill(steps, 2, PROFILE_AGGREGATION_SUM, w, 1);
	assert_true(isnan(steps[0].value));
	assert_near(steps[1].value, 0.5e9, 1);
	assert_near(steps[1].covered_ns, 1e9, 1);
	w[0] = (struct timeline_window){T0 + 15 * S, T0 + 15 * S, 80};
	fill(steps, 2, PROFILE_AGGREGATION_AVG, w, 1);
	assert_near(steps[1].value, 80, 1e-6);
}

TEST(absurd_windows_do_no_harm)
{
	struct timeline_step steps[1];
	struct timeline_window w[] = {{INT64_MIN, INT64_MAX, 1},
				      {INT64_MAX, INT64_MIN, 1},
				      {T0 + S, T0 - S, 1 * S},
				      {T0, T0, INT64_MAX}};

	fill(steps, 1, PROFILE_AGGREGATION_SUM, w, 4);
	assert_true(isfinite(steps[0].value));
	assert_true(steps[0].covered_ns <= 10e9);
}

TEST(steps_are_round)
{
	assert_int_equal(timeline_step_ms(3600 * 1000, 300), 15000);
	assert_int_equal(timeline_step_ms(3600 * 1000, 360), 10000);
	assert_int_equal(timeline_step_ms(1, 300), 1000);
	assert_int_equal(timeline_step_ms(INT64_C(86400000) * 7, 300), 3600000);
	assert_int_equal(timeline_step_ms(INT64_C(86400000) * 7000, 10), INT64_C(86400000) * 700);
}

TEST(steps_of_hours_begin_with_an_hour_and_are_not_more_than_asked_for)
{
	const int64_t hour = 3600 * S, day = 24 * hour, from = T0 / hour * hour + 1234 * S;
	struct timeline t = {0};

	timeline_set_steps(&t, from, from + 30 * day, 300);
	assert_int_equal(t.from_ns, from - 1234 * S);
	assert_int_equal(t.step_ns, 3 * hour);
	assert_int_equal(t.n_steps, 241);
	/* 300 hours touch 301 */
	timeline_set_steps(&t, from, from + 300 * hour, 300);
	assert_int_equal(t.step_ns, 2 * hour);
	assert_true(t.n_steps <= 300 && t.from_ns + t.n_steps * t.step_ns >= from + 300 * hour);
	timeline_set_steps(&t, from, from + 7001 * day, 10);
	assert_int_equal(t.step_ns % hour, 0);
	assert_true(t.n_steps <= 10);
	/* shorter ones begin with the range */
	timeline_set_steps(&t, from, from + day, 300);
	assert_int_equal(t.from_ns, from);
	assert_int_equal(t.step_ns, 300 * S);
	assert_int_equal(t.n_steps, 288);
}

TEST(a_value_without_a_time_counts_where_others_cover_it)
{
	struct timeline_step steps[2];
	struct timeline_window w[] = {{T0, T0 + 10 * S, 5 * S, true},
				      {T0 + 2 * S, T0 + 6 * S, 0, false},
				      {T0 + 12 * S, T0 + 13 * S, S, false},
				      {T0 + 12 * S, T0 + 15 * S, 0, false}};

	fill(steps, 2, PROFILE_AGGREGATION_SUM, w, ARRAY_SIZE(w));
	assert_near(steps[0].covered_ns, 4e9, 1);
	assert_near(steps[0].value, 1.25e9, 1);
	assert_near(steps[1].covered_ns, 3e9, 1);
	assert_near(timeline_covered_ns(w, ARRAY_SIZE(w), T0 + 3 * S, T0 + 14 * S), 5e9, 1);
}
