#include <errno.h>

#include "cluster-agent/wal/id_set.h"
#include "test/lib/unit.h"

static struct upload_id id_of(uint64_t n)
{
	return (struct upload_id){.low = n * UINT64_C(0x9e3779b97f4a7c15), .high = n};
}

TEST(test_an_id_is_added_once)
{
	CLEANUP(id_set_freep) struct id_set *s = NULL;

	assert_int_equal(id_set_new(&s, 10), 0);
	assert_false(id_set_has(s, id_of(1)));
	assert_true(id_set_add(s, id_of(1)));
	assert_false(id_set_add(s, id_of(1)));
	assert_true(id_set_has(s, id_of(1)));
	assert_false(id_set_has(s, (struct upload_id){.low = id_of(1).low, .high = 2}));
	assert_int_equal(id_set_count(s), 1);
}

/* Of every size, because the slots wrap around at different places. */
TEST(test_the_oldest_is_forgotten_first)
{
	for (size_t max = 1; max < 70; max++) {
		CLEANUP(id_set_freep) struct id_set *s = NULL;

		assert_int_equal(id_set_new(&s, max), 0);
		for (uint64_t n = 0; n < 5 * max; n++) {
			assert_true(id_set_add(s, id_of(n)));
			assert_int_equal(id_set_count(s), n < max ? n + 1 : max);
			for (uint64_t old = 0; old <= n; old++)
				assert_int_equal(id_set_has(s, id_of(old)), old + max > n);
		}
		assert_int_equal(id_set_forgotten(s), 4 * max);
	}
}

TEST(test_a_size_of_none_or_too_many_is_refused)
{
	struct id_set *s = NULL;

	assert_int_equal(id_set_new(&s, 0), -EINVAL);
	assert_int_equal(id_set_new(&s, SIZE_MAX), -EINVAL);
	assert_null(s);
}

static int make(void *arg)
{
	CLEANUP(id_set_freep) struct id_set *s = NULL;

	(void)arg;
	return id_set_new(&s, 100);
}

TEST(test_failed_allocations)
{
	check_oom(make, NULL);
}
