#include <errno.h>

#include "node-agent/go/lock/lock_variables.h"
#include "test/lib/lock_child.h"
#include "test/lib/unit.h"

static int turn(struct lock_child *c, enum lock_kind kind, enum lock_rate_wish wish)
{
	return lock_rate_switch(&c->go.runtime, &c->go.id, kind, wish);
}

static void expect_rates(const struct lock_child *c, uint64_t mutex, uint64_t block)
{
	assert_int_equal(c->memory->rates[LOCK_MUTEX], mutex);
	assert_int_equal(c->memory->rates[LOCK_BLOCK], block);
}

TEST(test_rates_are_switched_on_and_off_again)
{
	struct lock_child c;
	uint64_t rate = 1;

	lock_child_begin(&c);
	assert_int_equal(lock_rate_read(&c.go.runtime, LOCK_MUTEX, &rate), 0);
	assert_int_equal(rate, 0);
	assert_int_equal(turn(&c, LOCK_MUTEX, LOCK_RATE_OFF), 0);
	assert_int_equal(turn(&c, LOCK_MUTEX, LOCK_RATE_ON), 1);
	expect_rates(&c, LOCK_RATE_MUTEX, 0);
	assert_int_equal(turn(&c, LOCK_MUTEX, LOCK_RATE_ON), 0);
	assert_int_equal(turn(&c, LOCK_BLOCK, LOCK_RATE_ON), 1);
	expect_rates(&c, LOCK_RATE_MUTEX, 0x2000000);
	assert_int_equal(lock_rate_read(&c.go.runtime, LOCK_BLOCK, &rate), 0);
	assert_int_equal(rate, 0x2000000);
	assert_int_equal(turn(&c, LOCK_MUTEX, LOCK_RATE_OFF), 1);
	assert_int_equal(turn(&c, LOCK_BLOCK, LOCK_RATE_OFF), 1);
	expect_rates(&c, 0, 0);
	lock_child_end(&c);
}

TEST(test_a_rate_that_the_program_chose_stays)
{
	struct lock_child c;

	lock_child_begin(&c);
	c.memory->rates[LOCK_MUTEX] = 5;
	c.memory->rates[LOCK_BLOCK] = 1;
	for (int kind = 0; kind < LOCK_KINDS; kind++) {
		assert_int_equal(turn(&c, (enum lock_kind)kind, LOCK_RATE_ON), -EALREADY);
		assert_int_equal(turn(&c, (enum lock_kind)kind, LOCK_RATE_OFF), -EALREADY);
	}
	expect_rates(&c, 5, 1);
	lock_child_end(&c);
}

/* What is remembered was found in another process, whose owner may have liked it so. */
TEST(test_an_address_from_another_process_is_not_written_to)
{
	struct lock_child c;

	lock_child_begin(&c);
	/* 0 too, and a variable */
	c.go.executable.at[GO_MUTEX_RATE] = c.go.executable.at[GO_BLOCK_BUCKETS];
	assert_int_equal(turn(&c, LOCK_MUTEX, LOCK_RATE_ON), 1);
	expect_rates(&c, LOCK_RATE_MUTEX, 0);
	assert_int_equal(c.memory->lists[LOCK_BLOCK], 0);
	lock_child_end(&c);
}

TEST(test_another_process_or_release_is_not_written_to)
{
	struct lock_child c;

	lock_child_begin(&c);
	c.go.id.start_time++;
	assert_int_equal(turn(&c, LOCK_MUTEX, LOCK_RATE_ON), -ESRCH);
	c.go.id.start_time--;
	c.go.runtime.image.minor = 28;
	assert_int_equal(turn(&c, LOCK_MUTEX, LOCK_RATE_ON), -ENOTSUP);
	c.go.runtime.image.minor = 27;
	c.go.runtime.modules[0].data[1].end = c.go.runtime.modules[0].data[1].start + 4;
	assert_int_equal(turn(&c, LOCK_MUTEX, LOCK_RATE_ON), -ENOTSUP);
	c.go.executable.at[GO_MUTEX_RATE] = 0; /* it could not be found */
	assert_int_equal(turn(&c, LOCK_MUTEX, LOCK_RATE_ON), -ENOENT);
	expect_rates(&c, 0, 0);
	go_child_kill(&c.go);
	assert_int_equal(turn(&c, LOCK_BLOCK, LOCK_RATE_ON) < 0, 1);
	lock_child_end(&c);
}
