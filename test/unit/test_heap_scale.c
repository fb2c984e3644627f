#include "node-agent/go/heap/heap_profile.h"
#include "test/lib/unit.h"

static void check(uint64_t count, uint64_t size, uint64_t rate, int64_t objects, int64_t bytes)
{
	struct heap_amount a = heap_scale(count, size, rate);

	assert_int_equal(a.objects, objects);
	assert_int_equal(a.bytes, bytes);
}

TEST(test_small_objects_stand_for_many)
{
	/* 1 / (1 - exp(-16/524288)) = 32768.5 */
	check(1, 16, 524288, 32768, 524296);
	check(10, 16, 524288, 327685, 5242960);
}

TEST(test_objects_larger_than_the_rate_stand_for_themselves)
{
	check(3, 64 << 20, 524288, 3, INT64_C(3) * (64 << 20));
}

TEST(test_with_a_rate_of_one_each_object_is_counted)
{
	check(7, 16, 1, 7, 112);
	check(7, 16, 0, 7, 112);
}

TEST(test_nothing_stands_for_nothing)
{
	check(0, 16, 524288, 0, 0);
	check(5, 0, 524288, 0, 0);
}

TEST(test_absurd_counts_stay_in_range)
{
	check(UINT64_MAX, UINT64_C(1) << 47, 524288, INT64_C(1) << 62, INT64_C(1) << 62);
}

/* Counts that grow by a few in each of a thousand intervals, as those of real records do. */
static void check_sum(uint64_t before, uint64_t size, uint64_t rate)
{
	struct heap_amount sum = {0, 0}, whole;
	struct heap_growth count = {before, before};

	for (uint64_t i = 0; i < 1000; i++) {
		struct heap_amount a;

		count = (struct heap_growth){count.now, count.now + i * i % 3};
		a = heap_scale_growth(count, size, rate);
		assert_true(a.objects >= (int64_t)(count.now - count.before));
		sum.objects += a.objects;
		sum.bytes += a.bytes;
	}
	whole = heap_scale(count.now, size, rate);
	sum.objects += heap_scale(before, size, rate).objects;
	sum.bytes += heap_scale(before, size, rate).bytes;
	assert_int_equal(sum.objects, whole.objects);
	assert_int_equal(sum.bytes, whole.bytes);
}

TEST(test_growths_of_intervals_add_up_to_that_of_the_whole)
{
	static const uint64_t sizes[] = {16, 4096, 524288, 300000, 1 << 20, 5 << 20};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		check_sum(0, sizes[i], 524288);
		check_sum(12345, sizes[i], 524288);
		check_sum(7, sizes[i], 1);
	}
}

TEST(test_a_count_that_has_not_grown_stands_for_nothing)
{
	const struct heap_growth same = {5, 5}, fell = {5, 4},
				 huge = {UINT64_C(1) << 62, (UINT64_C(1) << 62) + 1};

	assert_int_equal(heap_scale_growth(same, 16, 524288).objects, 0);
	assert_int_equal(heap_scale_growth(fell, 16, 524288).objects, 0);
	assert_int_equal(heap_scale_growth(huge, 16, 524288).bytes, 0);
}
