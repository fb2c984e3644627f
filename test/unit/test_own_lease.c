#include "cluster-agent/replica/own_lease.h"
#include "cluster-agent/replica/replica_set.h"
#include "test/lib/unit.h"

#define S NS_PER_S

static struct lease held_by(const char *holder, const char *version)
{
	return (struct lease){.name = "g-a",
			      .version = version,
			      .uid = "u",
			      .holder = holder,
			      .acquired = "then",
			      .transitions = 3};
}

TEST(is_created_and_renewed)
{
	struct own_lease o;
	struct lease l = held_by("me", "1");

	own_lease_init(&o, "g-a", "me");
	assert_int_equal(o.record.step, LEASE_READ);
	assert_false(own_lease_read(&o, NULL, 0, 0));
	assert_int_equal(o.record.step, LEASE_CREATE);
	lease_record_text(&o.record, &l);
	assert_string_equal(l.holder, "me");
	assert_string_equal(l.version, "");
	l = held_by("me", "7");
	own_lease_written(&o, &l, 0);
	assert_int_equal(o.record.step, LEASE_WRITE);
	lease_record_text(&o.record, &l);
	assert_string_equal(l.version, "7");
	assert_string_equal(l.uid, "u");
	assert_string_equal(l.acquired, "then");
	assert_int_equal(l.transitions, 3);
}

TEST(after_a_write_with_unknown_result_the_lease_is_read)
{
	struct own_lease o;
	struct lease l = held_by("me", "7");

	own_lease_init(&o, "g-a", "me");
	own_lease_written(&o, &l, 0);
	lease_record_unknown(&o.record);
	assert_int_equal(o.record.step, LEASE_READ);
	l = held_by("me", "8");
	assert_true(own_lease_read(&o, &l, 0, 0));
	assert_int_equal(o.record.step, LEASE_WRITE);
	assert_string_equal(o.record.version, "8");
}

TEST(a_starting_process_takes_the_lease_over)
{
	struct own_lease o;
	struct lease l = held_by("the one before", "5");

	own_lease_init(&o, "g-a", "me");
	assert_false(own_lease_read(&o, &l, 0, 0));
	assert_false(o.has_rival);
	assert_int_equal(o.record.step, LEASE_WRITE);
	lease_record_text(&o.record, &l);
	assert_string_equal(l.holder, "me");
	assert_string_equal(l.version, "5");
	assert_string_equal(l.acquired, "");
	assert_int_equal(l.transitions, 4);
}

TEST(who_lost_it_waits_until_the_other_is_dead)
{
	struct own_lease o;
	struct lease mine = held_by("me", "5");
	struct lease l = held_by("you", "6");

	own_lease_init(&o, "g-a", "me");
	own_lease_written(&o, &mine, 0);
	lease_record_unknown(&o.record);
	assert_false(own_lease_read(&o, &l, 0, 1 * S));
	assert_true(o.has_rival);
	assert_int_equal(o.record.step, LEASE_READ);
	l = held_by("you", "7");
	assert_false(own_lease_read(&o, &l, 10 * S, 11 * S));
	/* asked too early, however late it is answered */
	assert_false(own_lease_read(&o, &l, 11 * S + REPLICA_EXPIRY_NS - 1, 40 * S));
	assert_true(o.has_rival);
	assert_false(own_lease_read(&o, &l, 11 * S + REPLICA_EXPIRY_NS, 40 * S));
	assert_false(o.has_rival);
	assert_int_equal(o.record.step, LEASE_WRITE);
	assert_string_equal(o.record.version, "7");
}

TEST(what_a_rival_gave_up_is_free)
{
	struct own_lease o;
	struct lease mine = held_by("me", "5");
	struct lease l = held_by("you", "6");

	own_lease_init(&o, "g-a", "me");
	own_lease_written(&o, &mine, 0);
	own_lease_read(&o, &l, 1, 1);
	assert_true(o.has_rival);
	l = held_by("", "7");
	own_lease_read(&o, &l, 2, 2);
	assert_false(o.has_rival);
	assert_int_equal(o.record.step, LEASE_WRITE);

	l = held_by("you", "8");
	own_lease_read(&o, &l, 3, 3);
	own_lease_read(&o, NULL, 4, 4);
	assert_false(o.has_rival);
	assert_int_equal(o.record.step, LEASE_CREATE);
	assert_string_equal(o.record.version, "");
}

TEST(is_not_deleted_while_the_one_it_was_taken_from_may_work)
{
	struct own_lease o;
	struct lease l = held_by("the one before", "5");
	struct lease mine = held_by("me", "6");

	own_lease_init(&o, "g-a", "me");
	assert_false(own_lease_may_delete(&o, 100 * S));
	own_lease_read(&o, &l, 1 * S, 1 * S);
	assert_false(own_lease_may_delete(&o, 100 * S));
	/* the answer to the first write was lost, and it had its effect */
	lease_record_unknown(&o.record);
	own_lease_read(&o, &mine, 2 * S, 2 * S);
	own_lease_written(&o, &mine, 3 * S);
	assert_false(own_lease_may_delete(&o, 3 * S + REPLICA_HANDOVER_NS - 1));
	assert_true(own_lease_may_delete(&o, 3 * S + REPLICA_HANDOVER_NS));
	own_lease_written(&o, &mine, 19 * S);
	assert_true(own_lease_may_delete(&o, 3 * S + REPLICA_HANDOVER_NS));
	lease_record_unknown(&o.record);
	assert_false(own_lease_may_delete(&o, 100 * S));
}

TEST(what_was_created_may_be_deleted)
{
	struct own_lease o;
	struct lease mine = held_by("me", "6");

	own_lease_init(&o, "g-a", "me");
	own_lease_read(&o, NULL, 1 * S, 1 * S);
	own_lease_written(&o, &mine, 2 * S);
	assert_true(own_lease_may_delete(&o, 2 * S));
}
