#include "node-agent/unwind/table_owners.h"

#include <errno.h>

#include "common/system/clock.h"
#include "test/lib/unit.h"

#define BUDGET 1200u

static struct table_owners owners;

static int forget_all(void **state)
{
	(void)state;
	owners = (struct table_owners){.build_ns = 0};
	return 0;
}

static void one_owner_leaves_the_builder_to_others(void **state)
{
	const uint32_t a = table_owner_of("/docker/a"), b = table_owner_of("/docker/b");
	uint64_t used = 0;

	(void)state;
	assert_int_not_equal(a, b);
	table_owners_tick(&owners, NS_PER_S);
	for (; table_owners_may_build(&owners, a); used += NS_PER_S / 10)
		table_owners_charge(&owners, a, NS_PER_S / 10);
	assert_int_equal(used, TABLE_OWNERS_BUILD_NS / 2);
	assert_true(table_owners_may_build(&owners, b));
}

static void all_owners_together_have_a_limit_over_time(void **state)
{
	const uint64_t hours = 3, step_ns = NS_PER_S / 10;
	uint64_t used_ns = 0, now_ns = NS_PER_S;

	(void)state;
	for (uint64_t i = 0; i < hours * 3600; i++, now_ns += NS_PER_S) {
		table_owners_tick(&owners, now_ns);
		for (uint32_t o = 0; o < TABLE_OWNERS; o++) {
			if (!table_owners_may_build(&owners, o))
				continue;
			table_owners_charge(&owners, o, step_ns);
			used_ns += step_ns;
		}
	}
	assert_true(used_ns > 0);
	assert_true(used_ns < hours * 3600 * NS_PER_S / 10);
	/* and after a pause, however long, it is as it was */
	now_ns += 1000 * TABLE_OWNERS_HALF_LIFE_NS;
	table_owners_tick(&owners, now_ns);
	assert_int_equal(owners.build_ns, 0);
	assert_true(table_owners_may_build(&owners, 0));
}

static void an_owner_has_half_of_the_indexes(void **state)
{
	(void)state;
	owners.owners[3].n_tables = 49;
	assert_true(table_owners_may_add(&owners, 3, 100));
	owners.owners[3].n_tables = 50;
	assert_false(table_owners_may_add(&owners, 3, 100));
	assert_true(table_owners_may_add(&owners, 4, 100));
}

static void who_has_more_than_a_share_makes_room(void **state)
{
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_owner_leaves_the_builder_to_others, forget_all),
		cmocka_unit_test_setup(all_owners_together_have_a_limit_over_time, forget_all),
		cmocka_unit_test_setup(an_owner_has_half_of_the_indexes, forget_all),
		cmocka_unit_test_setup(who_has_more_than_a_share_makes_room, forget_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
