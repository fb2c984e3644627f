#include "common/flame/pair_table.h"
#include "test/lib/unit.h"

TEST(finds_what_was_added_and_nothing_else)
{
	CLEANUP(pair_table_fini) struct pair_table t = {0};

	assert_int_equal(pair_table_find(&t, 1, 2), PAIR_TABLE_ABSENT);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(pair_table_add(&t, i % 100, i / 100, i), 0);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(pair_table_find(&t, i % 100, i / 100), i);
	assert_int_equal(pair_table_find(&t, 100, 0), PAIR_TABLE_ABSENT);
	assert_int_equal(pair_table_find(&t, 0, 100), PAIR_TABLE_ABSENT);
}

/* With a constant factor for a hash, these keys would share one slot and take minutes. */
TEST(chosen_keys_do_not_share_a_slot)
{
	CLEANUP(pair_table_fini) struct pair_table t = {0};
	const uint64_t inverse = UINT64_C(0xf1de83e19937733d); /* of 0x9e3779b97f4a7c15 */

	for (uint64_t i = 0; i < 400000; i++) {
		uint64_t key = ((i & 0xfff) << 52 | i >> 12) * inverse;

		assert_int_equal(
			pair_table_add(&t, (uint32_t)(key >> 32), (uint32_t)key, (uint32_t)i), 0);
	}
}

static int fill(void *arg)
{
	CLEANUP(pair_table_fini) struct pair_table t = {0};

	(void)arg;
	for (uint32_t i = 0; i < 5000; i++) {
		int r = pair_table_add(&t, i, i, i);

		if (r < 0)
			return r;
	}
	return 0;
}

TEST(survives_every_failed_allocation)
{
	check_oom(fill, NULL);
}
