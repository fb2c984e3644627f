#include "node-agent/unwind/table_owners.h"

#include <errno.h>

#include "common/system/clock.h"
#include "test/lib/unit.h"

#define BUDGET 1200u
#define STEP_NS (100 * NS_PER_MS) /* to build a table */

static struct table_owners owners;

static int forget_all(void **state)
{
	(void)state;
	owners = (struct table_owners){.build_ns = 0};
	return 0;
}

/* Builds for owners 0 to n - 1 each second, as long as they may. Returns the CPU time. */
static uint64_t build_for(uint32_t n, uint64_t seconds, uint64_t *now_ns)
{
	uint64_t used_ns = 0;

	for (uint64_t i = 0; i < seconds; i++, *now_ns += NS_PER_S) {
		table_owners_tick(&owners, *now_ns);
		for (uint32_t o = 0; o < n; o++) {
			if (!table_owners_may_build(&owners, o))
				continue;
			table_owners_charge(&owners, o, STEP_NS);
			used_ns += STEP_NS;
		}
	}
	return used_ns;
}

/* Many programs that are new at once, each of 100 ms, all of the host itself. */
TEST_FIXTURE(nothing_waits_after_a_start, forget_all, NULL)
{
	const uint32_t host = table_owner_of("");

	for (unsigned i = 0; i < 250; i++) {
		table_owners_tick(&owners, NS_PER_S);
		assert_true(table_owners_may_build(&owners, host));
		table_owners_charge(&owners, host, STEP_NS);
	}
}

TEST_FIXTURE(one_owner_leaves_the_builder_to_others, forget_all, NULL)
{
	const uint32_t a = table_owner_of("/docker/a"), b = table_owner_of("/docker/b");
	uint64_t used = 0;

	assert_int_not_equal(a, b);
	table_owners_tick(&owners, NS_PER_S);
	for (; table_owners_may_build(&owners, a); used += STEP_NS)
		table_owners_charge(&owners, a, STEP_NS);
	assert_int_equal(used, TABLE_OWNER_BUILD_NS);
	assert_true(table_owners_may_build(&owners, b));
}

/* However many they are, and a single one too. */
TEST_FIXTURE(owners_have_a_limit_over_time, forget_all, NULL)
{
	const uint64_t hour = 3600;
	uint64_t now_ns = NS_PER_S;

	assert_true(build_for(TABLE_OWNERS, hour, &now_ns) >= TABLE_OWNERS_BUILD_NS);
	for (uint32_t n = TABLE_OWNERS; n > 0; n /= 1024) {
		uint64_t used_ns = build_for(n, hour, &now_ns);

		/* the last one of each second may go beyond */
		assert_in_range(used_ns, hour * NS_PER_S / 10 - STEP_NS,
				hour * NS_PER_S / 10 + STEP_NS);
	}
}

TEST_FIXTURE(a_pause_pays_everything_off, forget_all, NULL)
{
	uint64_t now_ns = NS_PER_S;

	(void)build_for(TABLE_OWNERS, 600, &now_ns);
	assert_false(table_owners_may_build(&owners, 0));
	now_ns += 3600 * NS_PER_S;
	table_owners_tick(&owners, now_ns);
	assert_int_equal(owners.build_ns, 0);
	assert_int_equal(owners.owners[0].build_ns, 0);
}

/* Time is not lost between calls that are close to each other. */
TEST_FIXTURE(calls_may_be_frequent, forget_all, NULL)
{
	uint64_t now_ns = NS_PER_S;

	table_owners_tick(&owners, now_ns);
	table_owners_charge(&owners, 0, 2 * NS_PER_S);
	for (unsigned i = 0; i < 10000; i++, now_ns += NS_PER_MS)
		table_owners_tick(&owners, now_ns);
	assert_in_range(owners.build_ns, NS_PER_S, NS_PER_S + 10 * NS_PER_MS);
}

TEST_FIXTURE(an_owner_has_half_of_the_indexes, forget_all, NULL)
{
	owners.owners[3].n_tables = 49;
	assert_true(table_owners_may_add(&owners, 3, 100));
	owners.owners[3].n_tables = 50;
	assert_false(table_owners_may_add(&owners, 3, 100));
	assert_true(table_owners_may_add(&owners, 4, 100));
}

TEST_FIXTURE(who_has_more_than_a_share_makes_room, forget_all, NULL)
{
	owners.owners[1].bytes = 1000;
	owners.owners[2].bytes = 100;
	/* three owners, 400 for each */
	assert_int_equal(table_owners_find_debtor(&owners, 3, 400, BUDGET), 1);
	assert_int_equal(table_owners_find_debtor(&owners, 3, 401, BUDGET), -ENOENT);
	/* two owners, 600 for each */
	assert_int_equal(table_owners_find_debtor(&owners, 2, 500, BUDGET), 1);
	assert_int_equal(table_owners_find_debtor(&owners, 2, 501, BUDGET), -ENOENT);
	assert_int_equal(table_owners_find_debtor(&owners, 1, 1, BUDGET), -ENOENT);
	owners.owners[1].bytes = 600;
	assert_int_equal(table_owners_find_debtor(&owners, 2, 1, BUDGET), -ENOENT);
}
