#include "cluster-agent/store/space_plan.h"

#include "test/lib/unit.h"

#define TODAY 20260110

/* Disks of 1000 bytes, at most 90 % of which may be used. */
struct fixture {
	struct space_disk disks[2];
	struct space_day days[6];
	struct space_state state;
};

static void init(struct fixture *f, uint64_t free0, uint64_t free1)
{
	*f = (struct fixture){
		.disks = {{"a", "default", 1000, free0}, {"b", "default", 1000, free1}},
		.days = {{0, 20260108, 30},
			 {0, 20260109, 50},
			 {0, TODAY, 60},
			 {1, 20260108, 20},
			 {1, 20260109, 70},
			 {1, TODAY, 10}},
	};
	f->state = (struct space_state){.disks = f->disks,
					.n_disks = 2,
					.days = f->days,
					.n_days = 6,
					.today = TODAY,
					.max_usage_percent = 90};
}

TEST(nothing_is_dropped_below_the_limit)
{
	struct space_choice c = {0};
	struct fixture f;

	init(&f, 100, 900);
	assert_int_equal(space_plan(&f.state, &c), SPACE_ENOUGH);
	init(&f, 1000, 1001); /* more than there is */
	assert_int_equal(space_plan(&f.state, &c), SPACE_ENOUGH);
}

TEST(the_oldest_days_go_until_there_is_room_on_all_disks)
{
	struct space_choice c = {0};
	struct fixture f;

	init(&f, 80, 500);
	assert_int_equal(space_plan(&f.state, &c), SPACE_DROP);
	assert_int_equal(c.day, 20260108);
	assert_int_equal(c.bytes, 50);
	assert_int_equal(c.disk, 0);
	assert_int_equal(c.usage_percent, 92);
	assert_int_equal(space_plan(&f.state, &c), SPACE_ENOUGH);

	init(&f, 500, 20);
	assert_int_equal(space_plan(&f.state, &c), SPACE_DROP);
	assert_int_equal(c.day, 20260108);
	assert_int_equal(c.disk, 1);
	assert_int_equal(space_plan(&f.state, &c), SPACE_DROP);
	assert_int_equal(c.day, 20260109);
	assert_int_equal(c.bytes, 120);
	assert_int_equal(space_plan(&f.state, &c), SPACE_ENOUGH);
}

TEST(a_disk_full_of_other_things_costs_no_profiles)
{
	struct space_choice c = {0};
	struct fixture f;

	init(&f, 500, 500);
	/* to drop both old days would free 80 bytes, and 81 are needed */
	f.disks[0].total_bytes = 2000;
	f.disks[0].free_bytes = 119;
	assert_int_equal(space_plan(&f.state, &c), SPACE_OTHERS);
	assert_int_equal(c.disk, 0);
	f.disks[0].free_bytes = 120;
	assert_int_equal(space_plan(&f.state, &c), SPACE_DROP);
}

TEST(room_for_one_more_day_is_made_on_any_disk)
{
	struct space_choice c = {0};
	struct fixture f;

	init(&f, 500, 500);
	f.disks[0].total_bytes = 100000;
	f.disks[0].free_bytes = 59; /* the largest day has 60 */
	assert_int_equal(space_plan(&f.state, &c), SPACE_DROP);
	assert_int_equal(c.day, 20260108);
	assert_int_equal(space_plan(&f.state, &c), SPACE_OTHERS);
}

TEST(the_newest_day_and_today_stay)
{
	struct space_choice c = {0};
	struct fixture f;

	/* nothing arrives: the newest day is an old one */
	init(&f, 500, 0);
	f.days[2].disk = f.days[5].disk = 0;
	f.days[2].day = f.days[5].day = 20260109;
	assert_int_equal(space_plan(&f.state, &c), SPACE_DROP);
	assert_int_equal(c.day, 20260108);
	assert_int_equal(space_plan(&f.state, &c), SPACE_NONE);

	/* the clock of a sender is ahead: today is not the newest day */
	init(&f, 500, 0);
	f.days[5].day = 20990101;
	f.days[3].day = f.days[4].day = TODAY;
	assert_int_equal(space_plan(&f.state, &c), SPACE_NONE);
}

TEST(disks_without_our_data_and_without_size_do_not_matter)
{
	struct space_choice c = {0};
	struct fixture f;

	init(&f, 500, 0);
	f.state.n_days = 3;
	assert_int_equal(space_plan(&f.state, &c), SPACE_ENOUGH);
	init(&f, 500, 500);
	f.disks[0].total_bytes = f.disks[0].free_bytes = 0;
	assert_int_equal(space_usage_percent(&f.disks[0]), 0);
	assert_int_equal(space_plan(&f.state, &c), SPACE_ENOUGH);
	f.state.n_disks = f.state.n_days = 0;
	assert_int_equal(space_plan(&f.state, &c), SPACE_ENOUGH);
}
