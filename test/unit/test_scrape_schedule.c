#include <errno.h>

#include "cluster-agent/scrape/scrape_schedule.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define S NS_PER_S
#define MINUTE (60 * S)

static void setup(struct scrape_schedule *s, size_t n)
{
	scrape_schedule_init(s, MINUTE);
	assert_int_equal(scrape_schedule_reserve(s, n), 0);
}

TEST(an_item_is_due_once_per_interval_at_its_offset)
{
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;
	struct schedule_item item = {0};
	uint64_t missed = 0, now = 1000 * MINUTE + 7 * S;

	setup(&s, 1);
	assert_true(scrape_schedule_next_ns(&s) == UINT64_MAX);
	scrape_schedule_place(&s, &item, 3 * MINUTE + 42 * S);
	scrape_schedule_put(&s, &item, now);
	for (int i = 0; i < 5; i++) {
		uint64_t due = 1000 * MINUTE + (uint64_t)i * MINUTE + 42 * S;

		assert_true(scrape_schedule_next_ns(&s) == due);
		assert_null(scrape_schedule_pop(&s, due - 1, &missed));
		assert_ptr_equal(scrape_schedule_pop(&s, due, &missed), &item);
		assert_true(item.slot_ns == due);
		/* exactly at a slot, the next one counts */
		scrape_schedule_put(&s, &item, due);
	}
	assert_int_equal(missed, 0);
}

TEST(before_the_first_offset_of_the_clock_there_is_no_slot)
{
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;
	struct schedule_item item = {0};

	setup(&s, 1);
	scrape_schedule_place(&s, &item, 42 * S);
	scrape_schedule_put(&s, &item, 3 * S);
	assert_true(item.due_ns == 42 * S);
}

TEST(one_that_waits_longer_than_an_interval_stands_for_its_last_slot)
{
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;
	struct schedule_item item = {0};
	uint64_t missed = 0;

	setup(&s, 1);
	scrape_schedule_place(&s, &item, 10 * S);
	scrape_schedule_put(&s, &item, 0);
	assert_ptr_equal(scrape_schedule_pop(&s, 69 * S, &missed), &item);
	assert_int_equal(missed, 0);
	assert_true(item.slot_ns == 10 * S);
	scrape_schedule_put(&s, &item, 69 * S);
	assert_ptr_equal(scrape_schedule_pop(&s, 70 * S + 2 * MINUTE + S, &missed), &item);
	assert_int_equal(missed, 2);
	assert_true(item.slot_ns == 70 * S + 2 * MINUTE);
}

TEST(one_that_takes_longer_than_an_interval_misses_slots)
{
	static const struct {
		uint64_t now, slot, missed;
	} cases[] = {
		{11, 70, 0},   {69, 70, 0},   /* in time */
		{70, 70, 0},   {84, 70, 0},   /* a little late: at once, for the passed slot */
		{85, 130, 1},  {129, 130, 1}, /* too late for that */
		{130, 130, 1}, {200, 190, 2}, {210, 250, 3},
	};
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;

	setup(&s, 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct schedule_item item = {.slot_ns = 10 * S, .offset_ns = 10 * S};
		uint64_t missed = 0;

		scrape_schedule_put_again(&s, &item, cases[i].now * S, &missed);
		assert_true(item.slot_ns == cases[i].slot * S && item.due_ns == item.slot_ns);
		assert_int_equal(missed, cases[i].missed);
		scrape_schedule_remove(&s, &item);
	}
}

TEST(what_takes_exactly_an_interval_misses_nothing_for_long)
{
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;
	struct schedule_item item = {0};
	uint64_t now = 0, missed = 0;

	setup(&s, 1);
	scrape_schedule_place(&s, &item, 10 * S);
	scrape_schedule_put(&s, &item, 0);
	/* a CPU profile of a minute, and the network takes 20 ms */
	for (int i = 0; i < 2000; i++) {
		if (now < scrape_schedule_next_ns(&s))
			now = scrape_schedule_next_ns(&s);
		assert_non_null(scrape_schedule_pop(&s, now, &missed));
		now += MINUTE + S / 50;
		scrape_schedule_put_again(&s, &item, now, &missed);
	}
	assert_int_equal(missed, 2);
}

TEST(a_deferred_item_keeps_its_slot)
{
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;
	struct schedule_item item = {0};
	uint64_t missed = 0;

	setup(&s, 1);
	scrape_schedule_place(&s, &item, 10 * S);
	scrape_schedule_put(&s, &item, 0);
	assert_non_null(scrape_schedule_pop(&s, 11 * S, &missed));
	scrape_schedule_defer(&s, &item, 12 * S);
	assert_null(scrape_schedule_pop(&s, 12 * S - 1, &missed));
	assert_non_null(scrape_schedule_pop(&s, 12 * S, &missed));
	assert_true(item.slot_ns == 10 * S);
}

TEST(new_targets_go_first_up_to_the_burst)
{
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;
	const struct schedule_item item = {.offset_ns = S / 4, .interval_ns = S / 2};
	uint64_t now = 5000 * S;
	unsigned n = 0;

	setup(&s, 1);
	while (scrape_schedule_early_ns(&s, SCHEDULE_NEW, &item, now) == now)
		n++;
	assert_int_equal(n, SCHEDULE_BURST);
	assert_true(scrape_schedule_early_ns(&s, SCHEDULE_NEW, &item, now + S / 4 - 1) ==
		    UINT64_MAX);
	assert_true(scrape_schedule_early_ns(&s, SCHEDULE_NEW, &item, now + S / 2) == now + S / 2);
	assert_true(scrape_schedule_early_ns(&s, SCHEDULE_NEW, &item, now + S / 2) == UINT64_MAX);
	/* that of repeated scrapes is another */
	assert_true(scrape_schedule_early_ns(&s, SCHEDULE_REPEATED, &item, now) == now);
	now += 3600 * S;
	for (n = 0; scrape_schedule_early_ns(&s, SCHEDULE_NEW, &item, now) == now;)
		n++;
	assert_int_equal(n, SCHEDULE_BURST);
}

TEST(beyond_the_burst_they_take_turns_or_their_slot)
{
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;
	struct schedule_item item = {.offset_ns = 30 * S, .interval_ns = 60 * S};
	uint64_t now = 6000 * S;

	setup(&s, 1);
	for (unsigned n = 0; n < SCHEDULE_BURST; n++)
		assert_true(scrape_schedule_early_ns(&s, SCHEDULE_NEW, &item, now) == now);
	for (unsigned n = 1; n < 60; n++)
		assert_true(scrape_schedule_early_ns(&s, SCHEDULE_NEW, &item, now) ==
			    now + n * (S / SCHEDULE_BURST_PER_S));
	/* its slot is as early, and leaves the turn to others */
	assert_true(scrape_schedule_early_ns(&s, SCHEDULE_NEW, &item, now) == UINT64_MAX);
	item.offset_ns = 31 * S;
	assert_true(scrape_schedule_early_ns(&s, SCHEDULE_NEW, &item, now) == now + 30 * S);
}

TEST(one_put_for_now_that_waits_past_a_slot_has_missed_nothing)
{
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;
	struct schedule_item item = {0};
	uint64_t missed = 0;

	setup(&s, 1);
	scrape_schedule_place(&s, &item, 10 * S);
	scrape_schedule_put_now(&s, &item, 9 * S);
	assert_non_null(scrape_schedule_pop(&s, 11 * S, &missed));
	assert_true(item.slot_ns == 10 * S);
	assert_int_equal(missed, 0);
}

#define N_ITEMS 1000u

static uint64_t next_random(uint64_t *random)
{
	*random = *random * UINT64_C(6364136223846793005) + 1;
	return *random >> 20;
}

/* Adds, removes and pops in random order: always returns the earliest item, and loses none. */
TEST(items_are_returned_in_order_of_their_due_times)
{
	static struct schedule_item items[N_ITEMS];
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;
	uint64_t random = 1, missed = 0, last = 0;
	const struct schedule_item *item;
	size_t n = 0;

	setup(&s, N_ITEMS);
	for (size_t i = 0; i < N_ITEMS; i++) {
		scrape_schedule_place(&s, &items[i], next_random(&random));
		scrape_schedule_put(&s, &items[i], 0);
	}
	for (size_t i = 0; i < 5 * N_ITEMS; i++) {
		struct schedule_item *one = &items[next_random(&random) % N_ITEMS];

		if (one->position != 0)
			scrape_schedule_remove(&s, one);
		else
			scrape_schedule_put(&s, one, next_random(&random) % MINUTE);
	}
	for (size_t i = 0; i < N_ITEMS; i++)
		n += items[i].position != 0;
	assert_int_equal(s.n, n);
	while ((item = scrape_schedule_pop(&s, UINT64_MAX / 2, &missed))) {
		assert_int_equal(item->position, 0);
		assert_true(item->due_ns >= last);
		last = item->due_ns;
		n--;
	}
	assert_int_equal(n, 0);
}

TEST(slots_of_many_pods_are_even)
{
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;
	unsigned per_second[60] = {0};
	uint64_t random = 1;

	setup(&s, 1);
	for (unsigned i = 0; i < 60000; i++) {
		struct schedule_item item = {0};

		scrape_schedule_place(&s, &item,
				      next_random(&random) * UINT64_C(0x9e3779b97f4a7c15));
		per_second[item.offset_ns / S]++;
	}
	for (unsigned i = 0; i < 60; i++)
		assert_in_range(per_second[i], 800, 1200);
}

static int reserve(void *ctx)
{
	return scrape_schedule_reserve(ctx, 1000);
}

TEST(no_memory_is_an_error)
{
	CLEANUP(scrape_schedule_fini) struct scrape_schedule s;

	scrape_schedule_init(&s, MINUTE);
	check_oom(reserve, &s);
}
