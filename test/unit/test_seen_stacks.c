#include <errno.h>

#include "cluster-agent/ingest/seen_stacks.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define S ((int64_t)NS_PER_S)
#define T0 (INT64_C(1700000000) * S)

static bool known(struct seen_stacks *s, const char *service, uint64_t hash, int64_t end_ns)
{
	struct seen_key key = seen_stacks_key(service, strlen(service), hash);
	bool ret;

	seen_stacks_check(s, &key, 1, end_ns, &ret);
	return ret;
}

static void add(struct seen_stacks *s, const char *service, uint64_t hash, int64_t last_seen_ns)
{
	struct seen_key key = seen_stacks_key(service, strlen(service), hash);

	seen_stacks_add(s, &key, 1, last_seen_ns);
}

static void a_stack_is_known_until_its_last_seen(void **state)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;

	(void)state;
	assert_int_equal(seen_stacks_new(&s, 1000), 0);
	assert_false(known(s, "/a", 1, T0));
	add(s, "/a", 1, T0 + 3600 * S);
	assert_true(known(s, "/a", 1, T0));
	assert_true(known(s, "/a", 1, T0 + 3600 * S));
	assert_false(known(s, "/a", 1, T0 + 3601 * S));
	/* another service and another hash have rows of their own */
	assert_false(known(s, "/b", 1, T0));
	assert_false(known(s, "/a", 2, T0));
}

static void an_older_profile_does_not_shorten_it(void **state)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;

	(void)state;
	assert_int_equal(seen_stacks_new(&s, 1000), 0);
	add(s, "/a", 1, T0 + 3600 * S);
	add(s, "/a", 1, T0);
	assert_true(known(s, "/a", 1, T0 + 3000 * S));
	add(s, "/a", 1, T0 + 7200 * S);
	assert_true(known(s, "/a", 1, T0 + 7000 * S));
}

static void the_first_to_expire_is_evicted(void **state)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;
	int n = 0;

	(void)state;
	/* a single set */
	assert_int_equal(seen_stacks_new(&s, 8), 0);
	for (int i = 0; i < 8; i++)
		add(s, "/a", (uint64_t)i, T0 + (100 + i) * S);
	for (int i = 0; i < 8; i++)
		assert_true(known(s, "/a", (uint64_t)i, T0));
	add(s, "/a", 99, T0 + 200 * S);
	assert_false(known(s, "/a", 0, T0));
	for (int i = 1; i < 8; i++)
		n += known(s, "/a", (uint64_t)i, T0);
	assert_int_equal(n, 7);
	assert_true(known(s, "/a", 99, T0));
}

static void a_large_set_forgets_little(void **state)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;
	int n = 0;

	(void)state;
	assert_int_equal(seen_stacks_new(&s, 1 << 16), 0);
	for (uint64_t i = 0; i < 1 << 15; i++)
		add(s, "/a", i, T0 + 100 * S);
	for (uint64_t i = 0; i < 1 << 15; i++)
		n += known(s, "/a", i, T0);
	assert_true(n > (1 << 15) * 95 / 100);
}

static int make(void *arg)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;

	(void)arg;
	return seen_stacks_new(&s, 64);
}

static void survives_every_failed_allocation(void **state)
{
	(void)state;
	check_oom(make, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_known_until_its_last_seen),
		cmocka_unit_test(an_older_profile_does_not_shorten_it),
		cmocka_unit_test(the_first_to_expire_is_evicted),
		cmocka_unit_test(a_large_set_forgets_little),
		cmocka_unit_test(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
