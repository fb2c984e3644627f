#include <errno.h>

#include "cluster-agent/store/upload_set.h"
#include "test/lib/unit.h"

static void knows_what_was_put_and_nothing_else(void **state)
{
	CLEANUP(upload_set_freep) struct upload_set *s = NULL;

	(void)state;
	assert_int_equal(upload_set_new(&s), 0);
	upload_set_put(s, (struct upload_id){1, 2}, 2);
	assert_int_equal(upload_set_get(s, (struct upload_id){1, 2}), 2);
	assert_int_equal(upload_set_get(s, (struct upload_id){1, 3}), 0);
	assert_int_equal(upload_set_get(s, (struct upload_id){2, 2}), 0);
	assert_int_equal(upload_set_get(s, (struct upload_id){0, 0}), 0);
	upload_set_put(s, (struct upload_id){1, 2}, 3);
	assert_int_equal(upload_set_get(s, (struct upload_id){1, 2}), 3);
}

static void forgets_the_one_that_was_put_longest_ago(void **state)
{
	CLEANUP(upload_set_freep) struct upload_set *s = NULL;

	(void)state;
	assert_int_equal(upload_set_new(&s), 0);
	for (uint64_t i = 1; i <= UPLOAD_SET_MAX; i++)
		upload_set_put(s, (struct upload_id){7, i}, 1);
	for (uint64_t i = 1; i <= UPLOAD_SET_MAX; i++)
		assert_int_equal(upload_set_get(s, (struct upload_id){7, i}), 1);

	upload_set_put(s, (struct upload_id){7, 1}, 1); /* makes it the youngest */
	upload_set_put(s, (struct upload_id){7, UPLOAD_SET_MAX + 1}, 1);
	assert_int_equal(upload_set_get(s, (struct upload_id){7, 2}), 0);
	assert_int_equal(upload_set_get(s, (struct upload_id){7, 3}), 1);
	assert_int_equal(upload_set_get(s, (struct upload_id){7, 1}), 1);
	assert_int_equal(upload_set_get(s, (struct upload_id){7, UPLOAD_SET_MAX + 1}), 1);
}

static int make_one(void *arg)
{
	CLEANUP(upload_set_freep) struct upload_set *s = NULL;
	int r = upload_set_new(&s);

	(void)arg;
	if (r < 0)
		return r;
	upload_set_put(s, (struct upload_id){1, 2}, 3);
	return upload_set_get(s, (struct upload_id){1, 2}) == 3 ? 0 : -ENOMEM;
}

static void survives_every_failed_allocation(void **state)
{
	(void)state;
	check_oom(make_one, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_what_was_put_and_nothing_else),
		cmocka_unit_test(forgets_the_one_that_was_put_longest_ago),
		cmocka_unit_test(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
