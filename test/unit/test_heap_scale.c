#include "node-agent/go/heap/heap_scale.h"
#include "test/lib/unit.h"

static void check(uint64_t count, uint64_t size, uint64_t rate, int64_t objects, int64_t bytes)
{
	struct heap_amount a = heap_scale(count, size, rate);

	assert_int_equal(a.objects, objects);
	assert_int_equal(a.bytes, bytes);
}

static void test_small_objects_stand_for_many(void **state)
{
	(void)state;
	/* 1 / (1 - exp(-16/524288)) = 32768.5 */
	check(1, 16, 524288, 32768, 524296);
	check(10, 16, 524288, 327685, 5242960);
}

static void test_objects_larger_than_the_rate_stand_for_themselves(void **state)
{
	(void)state;
	check(3, 64 << 20, 524288, 3, INT64_C(3) * (64 << 20));
}

static void test_with_a_rate_of_one_each_object_is_counted(void **state)
{
	(void)state;
	check(7, 16, 1, 7, 112);
	check(7, 16, 0, 7, 112);
}

static void test_nothing_stands_for_nothing(void **state)
{
	(void)state;
	check(0, 16, 524288, 0, 0);
	check(5, 0, 524288, 0, 0);
}

static void test_absurd_counts_stay_in_range(void **state)
{
	(void)state;
	check(UINT64_MAX, UINT64_C(1) << 47, 524288, INT64_C(1) << 62, INT64_C(1) << 62);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_objects_stand_for_many),
		cmocka_unit_test(test_objects_larger_than_the_rate_stand_for_themselves),
		cmocka_unit_test(test_with_a_rate_of_one_each_object_is_counted),
		cmocka_unit_test(test_nothing_stands_for_nothing),
		cmocka_unit_test(test_absurd_counts_stay_in_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
