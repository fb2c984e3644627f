#include <errno.h>
#include <math.h>

#include "node-agent/go/lock/lock_profile.h"
#include "test/lib/unit.h"

static struct go_bucket bucket;

static void put(double waits, uint64_t ticks)
{
	memcpy(&bucket.words[0], &waits, sizeof(waits));
	bucket.words[1] = ticks;
}

TEST(test_waits_are_whole_numbers_before_1_17_and_floating_since)
{
	struct lock_counts c;

	bucket.words[0] = 7;
	bucket.words[1] = 5000;
	assert_int_equal(lock_counts_decode(&bucket, 16, &c), 0);
	assert_int_equal(c.waits, 7);
	assert_int_equal(c.ticks, 5000);
	put(7.9, 5000);
	assert_int_equal(lock_counts_decode(&bucket, 17, &c), 0);
	assert_int_equal(c.waits, 7);
	assert_int_equal(c.ticks, 5000);
	assert_int_equal(lock_counts_decode(&bucket, 27, &c), 0);
	assert_int_equal(c.waits, 7);
}

TEST(test_impossible_counters_are_rejected)
{
	const double bad[] = {-1, NAN, INFINITY, 1e300};
	struct lock_counts c = {3, 4};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		put(bad[i], 1);
		assert_int_equal(lock_counts_decode(&bucket, 20, &c), -EAGAIN);
	}
	put(1, UINT64_C(1) << 63);
	assert_int_equal(lock_counts_decode(&bucket, 20, &c), -EAGAIN);
	bucket.words[0] = UINT64_MAX;
	bucket.words[1] = 1;
	assert_int_equal(lock_counts_decode(&bucket, 15, &c), -EAGAIN);
	assert_int_equal(c.waits, 3);
	assert_int_equal(c.ticks, 4);
}

TEST(test_only_mutexes_before_1_20_have_to_be_made_up_for)
{
	assert_int_equal(lock_counts_factor(LOCK_MUTEX, 19, 128), 128);
	assert_int_equal(lock_counts_factor(LOCK_MUTEX, 19, 0), 1);
	assert_int_equal(lock_counts_factor(LOCK_MUTEX, 19, UINT64_MAX), 1);
	assert_int_equal(lock_counts_factor(LOCK_MUTEX, 20, 128), 1);
	assert_int_equal(lock_counts_factor(LOCK_BLOCK, 15, 128), 1);
	assert_int_equal(lock_counts_factor(LOCK_BLOCK, 19, 128), 1);
}
