#include <nghttp2/nghttp2.h>

#include "common/http/grpc_budget.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define START_NS (100 * NS_PER_S)

static unsigned spend_all(struct grpc_budget *b, unsigned price, uint64_t now_ns)
{
	unsigned n = 0;

	while (grpc_budget_spend(b, price, now_ns))
		n++;
	return n;
}

TEST(what_is_spent_comes_back_with_time)
{
	struct grpc_budget b;

	grpc_budget_init(&b, START_NS);
	assert_int_equal(spend_all(&b, 1, START_NS), GRPC_BUDGET_MAX);
	assert_int_equal(spend_all(&b, 1, START_NS + NS_PER_S), GRPC_BUDGET_PER_S);
	/* half of one is not lost */
	assert_int_equal(spend_all(&b, 1, START_NS + NS_PER_S + 15 * NS_PER_MS), 1);
	assert_int_equal(spend_all(&b, 1, START_NS + NS_PER_S + 20 * NS_PER_MS), 1);
	assert_int_equal(spend_all(&b, 1, START_NS + 1000 * NS_PER_S), GRPC_BUDGET_MAX);
}

TEST(calls_earn_up_to_the_limit)
{
	struct grpc_budget b;

	grpc_budget_init(&b, START_NS);
	grpc_budget_earn(&b);
	assert_int_equal(spend_all(&b, 1, START_NS), GRPC_BUDGET_MAX);
	grpc_budget_earn(&b);
	assert_int_equal(spend_all(&b, 1, START_NS), GRPC_BUDGET_EARNED);
}

/* A Collector sends a call, and for its answer a PING and a WINDOW_UPDATE. */
TEST(proper_clients_never_run_out)
{
	struct grpc_budget b;

	grpc_budget_init(&b, START_NS);
	for (unsigned i = 0; i < 100000; i++) {
		assert_true(
			grpc_budget_spend(&b, grpc_budget_price(NGHTTP2_HEADERS, 4, 60), START_NS));
		assert_true(
			grpc_budget_spend(&b, grpc_budget_price(NGHTTP2_DATA, 0, 16384), START_NS));
		assert_true(grpc_budget_spend(
			&b, grpc_budget_price(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 0), START_NS));
		grpc_budget_earn(&b);
		assert_true(grpc_budget_spend(&b, grpc_budget_price(NGHTTP2_PING, 0, 8), START_NS));
		assert_true(grpc_budget_spend(&b, grpc_budget_price(NGHTTP2_WINDOW_UPDATE, 0, 4),
					      START_NS));
	}
}

TEST(calls_that_are_cancelled_run_out)
{
	struct grpc_budget b;
	unsigned n = 0;

	grpc_budget_init(&b, START_NS);
	for (; grpc_budget_spend(&b, grpc_budget_price(NGHTTP2_RST_STREAM, 0, 4), START_NS); n++)
		grpc_budget_earn(&b);
	assert_in_range(n, 1, GRPC_BUDGET_MAX);
	assert_int_equal(grpc_budget_price(NGHTTP2_DATA, 0, 0), 1);
}
