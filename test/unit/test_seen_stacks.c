#include <errno.h>

#include "cluster-agent/ingest/seen_stacks.h"
#include "common/data/table.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define S ((int64_t)NS_PER_S)
#define T0 (INT64_C(1700000000) * S)

/* A well-distributed key for a small number; such keys are what profile_rows.c makes. */
static struct seen_key key_of(uint64_t n)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(&n, sizeof(n), table_seed);

	return (struct seen_key){.low = h.low64, .high = h.high64};
}

static struct seen_answer find(struct seen_stacks *s, uint64_t n, int64_t end_ns)
{
	struct seen_key key = key_of(n);
	struct seen_answer ret;

	seen_stacks_find(s, &key, 1, end_ns, &ret);
	return ret;
}

static bool known(struct seen_stacks *s, uint64_t n, int64_t end_ns)
{
	return find(s, n, end_ns).known;
}

static void add(struct seen_stacks *s, uint64_t n, int64_t last_seen_ns)
{
	struct seen_stack stack = {key_of(n), n * 1000};

	seen_stacks_add(s, &stack, 1, last_seen_ns);
}

TEST(a_stack_is_known_until_its_last_seen)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;

	assert_int_equal(seen_stacks_new(&s, 1000), 0);
	assert_false(known(s, 1, T0));
	add(s, 1, T0 + 3600 * S);
	assert_true(known(s, 1, T0));
	assert_true(known(s, 1, T0 + 3600 * S));
	assert_false(known(s, 1, T0 + 3601 * S));
	assert_false(known(s, 2, T0));
}

TEST(the_hash_is_found_also_when_the_row_must_be_sent_again)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;
	struct seen_answer answers[40];
	struct seen_key keys[40];

	assert_int_equal(seen_stacks_new(&s, 1000), 0);
	for (uint64_t i = 0; i < ARRAY_SIZE(keys); i++) {
		keys[i] = key_of(i);
		if (i % 2)
			add(s, i, T0 + (int64_t)i * S);
	}
	seen_stacks_find(s, keys, ARRAY_SIZE(keys), T0 + 20 * S, answers);
	for (uint64_t i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_int_equal(answers[i].found, i % 2);
		assert_int_equal(answers[i].known, i % 2 && i >= 20);
		if (answers[i].found)
			assert_int_equal(answers[i].hash, i * 1000);
	}
}

TEST(an_older_profile_does_not_shorten_it)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;

	assert_int_equal(seen_stacks_new(&s, 1000), 0);
	add(s, 1, T0 + 3600 * S);
	add(s, 1, T0);
	assert_true(known(s, 1, T0 + 3000 * S));
	add(s, 1, T0 + 7200 * S);
	assert_true(known(s, 1, T0 + 7000 * S));
}

TEST(the_first_to_expire_is_evicted)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;
	int n = 0;

	/* a single set */
	assert_int_equal(seen_stacks_new(&s, 8), 0);
	for (int i = 0; i < 8; i++)
		add(s, (uint64_t)i, T0 + (100 + i) * S);
	for (int i = 0; i < 8; i++)
		assert_true(known(s, (uint64_t)i, T0));
	add(s, 99, T0 + 200 * S);
	assert_false(known(s, 0, T0));
	for (int i = 1; i < 8; i++)
		n += known(s, (uint64_t)i, T0);
	assert_int_equal(n, 7);
	assert_true(known(s, 99, T0));
}

TEST(a_large_set_forgets_little)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;
	int n = 0;

	assert_int_equal(seen_stacks_new(&s, 1 << 16), 0);
	for (uint64_t i = 0; i < 1 << 15; i++)
		add(s, i, T0 + 100 * S);
	for (uint64_t i = 0; i < 1 << 15; i++)
		n += known(s, i, T0);
	assert_true(n > (1 << 15) * 95 / 100);
}

static int make(void *arg)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;

	(void)arg;
	return seen_stacks_new(&s, 64);
}

TEST(survives_every_failed_allocation)
{
	check_oom(make, NULL);
}
