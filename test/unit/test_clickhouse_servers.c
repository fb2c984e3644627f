#include "cluster-agent/store/clickhouse_servers.h"

#include "common/system/clock.h"
#include "test/lib/unit.h"

static void set_up(struct clickhouse_servers *s)
{
	static const struct clickhouse_address addresses[3] = {
		{"http://a/", 0}, {"http://b/", 0}, {"http://c/", 0}};

	clickhouse_servers_init(s, addresses, 3);
}

TEST(the_first_that_works_is_kept)
{
	CLEANUP(clickhouse_servers_fini) struct clickhouse_servers s;

	set_up(&s);
	assert_int_equal(clickhouse_servers_pick(&s, 0, 1), 0);
	clickhouse_servers_failed(&s, 0, 1);
	assert_int_equal(clickhouse_servers_pick(&s, 1, 1), 1);
	clickhouse_servers_worked(&s, 1);
	assert_int_equal(clickhouse_servers_pick(&s, 0, 1), 1);
	/* also when the first would be asked again */
	assert_int_equal(clickhouse_servers_pick(&s, 0, 3600 * NS_PER_S), 1);
	clickhouse_servers_failed(&s, 1, 3600 * NS_PER_S);
	assert_int_equal(clickhouse_servers_pick(&s, 0, 3600 * NS_PER_S), 2);
}

TEST(those_that_failed_rest_unless_all_did)
{
	CLEANUP(clickhouse_servers_fini) struct clickhouse_servers s;
	const uint64_t now = NS_PER_S;
	int i;

	set_up(&s);
	for (i = 0; i < 3; i++)
		clickhouse_servers_failed(&s, i, now + (uint64_t)i);
	i = clickhouse_servers_pick(&s, 0, now + 10);
	assert_true(i >= 0);
	/* one of them, once per statement */
	assert_int_equal(clickhouse_servers_pick(&s, 1u << i, now + 10), -1);
	assert_int_equal(clickhouse_servers_pick(&s, 7, 3600 * NS_PER_S), -1);
	assert_true(clickhouse_servers_pick(&s, 0, 3600 * NS_PER_S) >= 0);
}

TEST(the_rest_doubles_up_to_half_a_minute)
{
	CLEANUP(clickhouse_servers_fini) struct clickhouse_servers s;
	uint64_t now = NS_PER_S, last = 0;

	set_up(&s);
	for (int i = 0; i < 12; i++) {
		clickhouse_servers_failed(&s, 0, now);
		last = s.server[0].retry_ns - now;
		/* statements that failed at the same time do not make it longer */
		clickhouse_servers_failed(&s, 0, now + 1);
		assert_int_equal(s.server[0].retry_ns - now, last);
		now = s.server[0].retry_ns;
	}
	assert_true(last >= 15 * NS_PER_S && last <= 30 * NS_PER_S);
}
