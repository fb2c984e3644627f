#include "cluster-agent/operator/leader_lease.h"

#include "test/lib/unit.h"

#define S NS_PER_S

static struct lease held_by(const char *holder, const char *version)
{
	return (struct lease){.name = "l",
			      .version = version,
			      .uid = "u",
			      .holder = holder,
			      .acquired = "then",
			      .transitions = 3};
}

TEST(without_a_lease_it_is_created_and_renewed)
{
	struct leader_lease l;
	struct lease got = held_by("me", "1");

	leader_lease_init(&l, "l", "me");
	assert_int_equal(l.record.step, LEASE_READ);
	assert_false(leader_lease_leads(&l, 0));
	assert_true(leader_lease_read(&l, NULL, 0, 1 * S));
	assert_int_equal(l.record.step, LEASE_CREATE);
	assert_false(leader_lease_leads(&l, 1 * S));
	leader_lease_written(&l, &got, 2 * S);
	assert_int_equal(l.record.step, LEASE_WRITE);
	assert_true(leader_lease_leads(&l, 3 * S));
	lease_record_text(&l.record, &got);
	assert_string_equal(got.holder, "me");
	assert_string_equal(got.version, "1");
	assert_string_equal(got.acquired, "then");
}

/* The time counts from when the renewal was sent: the server may have stored it then. */
TEST(a_leader_that_cannot_renew_stops_before_others_may_start)
{
	struct leader_lease l, other;
	struct lease got = held_by("me", "1");

	leader_lease_init(&l, "l", "me");
	leader_lease_init(&other, "l", "you");
	leader_lease_written(&l, &got, 100 * S);
	/* the other sees the write at once */
	assert_false(leader_lease_read(&other, &got, 100 * S, 100 * S));

	lease_record_unknown(&l.record);
	assert_true(leader_lease_leads(&l, 100 * S + LEADER_DEADLINE_NS - 1));
	assert_false(leader_lease_leads(&l, 100 * S + LEADER_DEADLINE_NS));
	assert_false(leader_lease_read(&other, &got, 100 * S + LEADER_EXPIRY_NS - 1,
				       100 * S + LEADER_EXPIRY_NS + S));
	assert_true(leader_lease_read(&other, &got, 100 * S + LEADER_EXPIRY_NS,
				      100 * S + LEADER_EXPIRY_NS + S));
	assert_int_equal(other.record.step, LEASE_WRITE);
	lease_record_text(&other.record, &got);
	assert_string_equal(got.holder, "you");
	assert_string_equal(got.version, "1");
	assert_string_equal(got.acquired, "");
	assert_int_equal(got.transitions, 4);
	assert_false(leader_lease_leads(&other, 200 * S));
}

TEST(a_lease_that_is_renewed_is_never_taken)
{
	struct leader_lease l;
	char version[16];

	leader_lease_init(&l, "l", "me");
	for (unsigned i = 0; i < 60; i++) {
		struct lease got = held_by("you", version);

		snprintf(version, sizeof(version), "%u", i / 2);
		assert_false(leader_lease_read(&l, &got, i * 7 * S, i * 7 * S + 1));
		assert_int_equal(l.record.step, LEASE_READ);
	}
}

TEST(a_lease_that_was_given_up_is_taken_at_once)
{
	struct leader_lease l;
	struct lease got = held_by("", "5");

	leader_lease_init(&l, "l", "me");
	assert_true(leader_lease_read(&l, &got, 0, 0));
	assert_int_equal(l.record.step, LEASE_WRITE);
}

/* A write whose answer was lost: the Lease says whether it happened. */
TEST(after_an_unknown_result_the_lease_decides)
{
	struct leader_lease l;
	struct lease mine = held_by("me", "2"), yours = held_by("you", "3");

	leader_lease_init(&l, "l", "me");
	leader_lease_written(&l, &mine, 10 * S);
	lease_record_unknown(&l.record);
	assert_int_equal(l.record.step, LEASE_READ);
	assert_true(leader_lease_read(&l, &mine, 12 * S, 12 * S));
	assert_int_equal(l.record.step, LEASE_WRITE);
	assert_true(leader_lease_leads(&l, 12 * S));

	lease_record_unknown(&l.record);
	assert_false(leader_lease_read(&l, &yours, 14 * S, 14 * S));
	assert_false(leader_lease_leads(&l, 14 * S));
}

TEST(a_deleted_lease_ends_the_leadership)
{
	struct leader_lease l;
	struct lease mine = held_by("me", "2");

	leader_lease_init(&l, "l", "me");
	leader_lease_written(&l, &mine, 10 * S);
	assert_true(leader_lease_read(&l, NULL, 11 * S, 11 * S));
	assert_false(leader_lease_leads(&l, 11 * S));
	lease_record_text(&l.record, &mine);
	assert_string_equal(mine.version, "");
	assert_int_equal(mine.transitions, 0);
}
