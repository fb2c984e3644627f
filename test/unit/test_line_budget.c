#include "node-agent/symbol/line_budget.h"

#include "common/system/clock.h"
#include "test/lib/unit.h"

#define HOUR_NS (3600 * NS_PER_S)

TEST(what_has_no_limit_may_spend_everything)
{
	struct line_budget b = {0};

	line_budget_spend(&b, UINT64_MAX);
	assert_true(line_budget_has(&b, 1, true));
}

TEST(an_hour_costs_less_than_a_two_thousandth_of_a_core_however_it_is_spent)
{
	static const uint64_t costs_ns[] = {30000, 1000000, 90000000};

	for (size_t i = 0; i < ARRAY_SIZE(costs_ns); i++) {
		uint64_t spent_ns = 0;
		struct line_budget b;

		line_budget_init(&b, 5);
		for (uint64_t t = 0; t < HOUR_NS; t += 10 * NS_PER_MS) {
			if (line_budget_has(&b, 5 + t, false)) {
				line_budget_spend(&b, costs_ns[i]);
				spent_ns += costs_ns[i];
			}
		}
		assert_true(spent_ns <= HOUR_NS / 2000 + costs_ns[i]);
		assert_true(spent_ns > HOUR_NS / 2000 * 9 / 10);
	}
}

TEST(a_profile_that_waits_leaves_half)
{
	struct line_budget b;

	line_budget_init(&b, 5);
	assert_true(line_budget_has(&b, 5, true));
	line_budget_spend(&b, LINE_BUDGET_NS / 2);
	assert_false(line_budget_has(&b, 5, true));
	assert_true(line_budget_has(&b, 5, false));
}

TEST(what_is_spent_is_saved_up_first)
{
	const uint64_t again_ns = (uint64_t)(LINE_BUDGET_AGAIN_NS * LINE_BUDGET_SHARE);
	struct line_budget b;

	line_budget_init(&b, 5);
	line_budget_spend(&b, LINE_BUDGET_NS);
	assert_false(line_budget_has(&b, 5, false));
	assert_false(line_budget_has(&b, 5 + again_ns / 2, false));
	assert_true(line_budget_has(&b, 5 + again_ns, false));
	/* and may be spent whole then */
	line_budget_spend(&b, LINE_BUDGET_AGAIN_NS / 2);
	assert_true(line_budget_has(&b, 5 + again_ns, false));
	/* a question that took far too long */
	line_budget_spend(&b, UINT64_MAX);
	assert_false(line_budget_has(&b, 5 + again_ns + HOUR_NS, false));
}
