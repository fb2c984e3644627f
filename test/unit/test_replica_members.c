#include "cluster-agent/replica/replica_members.h"
#include "test/lib/unit.h"

#define S NS_PER_S

/*
 * A member "b" that has renewed and listed each second from 1 s up to end_s, alone or with others.
 */
struct other {
	const char *name;
	uint64_t until_s; /* its version changes until then */
};

static void list(struct replica_members *m, const struct other *others, uint64_t sent_ns)
{
	char version[LEASE_VERSION_BYTES];

	replica_members_list_begin(m);
	replica_members_list_add(m, "b", "own", true, sent_ns);
	for (; others && others->name; others++) {
		uint64_t s = sent_ns / S;

		snprintf(version, sizeof(version), "%u",
			 (unsigned)(s < others->until_s ? s : others->until_s));
		replica_members_list_add(m, others->name, version, false, sent_ns);
	}
	replica_members_list_end(m, sent_ns);
}

static void run(struct replica_members *m, const struct other *others, uint64_t from_s,
		uint64_t end_s)
{
	for (uint64_t s = from_s; s <= end_s; s++) {
		replica_members_renewed(m, s * S, s * S);
		list(m, others, s * S);
	}
}

static size_t owned(const struct replica_members *m, uint64_t now_ns)
{
	size_t n = 0;
	char key[8];

	for (unsigned i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "%u", i);
		n += replica_members_owns(m, key, now_ns);
	}
	return n;
}

TEST(one_alone_begins_after_the_handover)
{
	struct replica_members m;

	replica_members_init(&m, "b");
	assert_int_equal(replica_members_turn_ns(&m, 0), UINT64_MAX);
	run(&m, NULL, 1, 17);
	assert_int_equal(replica_members_count(&m, 17 * S), 1);
	assert_int_equal(owned(&m, 17 * S), 0);
	assert_int_equal(replica_members_turn_ns(&m, 17 * S), 1 * S + REPLICA_HANDOVER_NS);
	assert_int_equal(owned(&m, 1 * S + REPLICA_HANDOVER_NS), 100);
}

TEST(pauses_without_renewals)
{
	struct replica_members m;

	replica_members_init(&m, "b");
	run(&m, NULL, 1, 30);
	for (uint64_t s = 31; s < 43; s++)
		list(&m, NULL, s * S);
	assert_true(replica_members_active(&m, 43 * S - 1));
	assert_int_equal(replica_members_turn_ns(&m, 42 * S), 43 * S);
	assert_false(replica_members_active(&m, 43 * S));
	assert_int_equal(replica_members_count(&m, 43 * S), 0);
}

TEST(a_gap_in_the_renewals_is_a_new_start)
{
	struct replica_members m;

	replica_members_init(&m, "b");
	run(&m, NULL, 1, 30);
	/* sent in time, answered late */
	replica_members_renewed(&m, 42 * S, 43 * S);
	list(&m, NULL, 43 * S);
	assert_false(replica_members_active(&m, 43 * S));
	run(&m, NULL, 44, 59);
	assert_false(replica_members_active(&m, 60 * S - 1));
	assert_true(replica_members_active(&m, 60 * S));
}

TEST(without_lists_it_pauses_until_the_next_one)
{
	struct replica_members m;

	replica_members_init(&m, "b");
	run(&m, NULL, 1, 30);
	for (uint64_t s = 31; s <= 50; s++)
		replica_members_renewed(&m, s * S, s * S);
	assert_true(replica_members_active(&m, 43 * S - 1));
	assert_false(replica_members_active(&m, 50 * S));
	list(&m, NULL, 50 * S);
	assert_true(replica_members_active(&m, 50 * S));
}

TEST(another_has_its_keys_from_when_it_is_seen_until_it_is_dead)
{
	const struct other others[] = {{"a", 45}, {}};
	struct replica_members m;
	uint64_t generation;
	size_t half;

	replica_members_init(&m, "b");
	run(&m, NULL, 1, 29);
	assert_int_equal(owned(&m, 29 * S), 100);
	generation = m.generation;
	run(&m, others, 30, 45);
	assert_int_not_equal(m.generation, generation);
	half = owned(&m, 30 * S);
	assert_in_range(half, 30, 70);
	assert_int_equal(replica_members_count(&m, 45 * S), 2);
	assert_int_equal(replica_members_expiry_ns(&m), 62 * S);

	generation = m.generation;
	run(&m, others, 46, 61);
	assert_int_equal(owned(&m, 61 * S), half);
	assert_int_equal(m.generation, generation);
	run(&m, others, 62, 62);
	assert_int_not_equal(m.generation, generation);
	assert_int_equal(owned(&m, 62 * S), 100);
	assert_int_equal(replica_members_expiry_ns(&m), UINT64_MAX);
	assert_int_equal(replica_members_count(&m, 62 * S), 1);
}

TEST(a_list_sent_before_the_expiry_leaves_all_alive)
{
	const struct other others[] = {{"a", 30}, {}};
	struct replica_members m;

	replica_members_init(&m, "b");
	run(&m, others, 1, 46);
	replica_members_renewed(&m, 47 * S, 47 * S);
	replica_members_list_begin(&m);
	replica_members_list_add(&m, "b", "own", true, 60 * S);
	replica_members_list_add(&m, "a", "30", false, 60 * S);
	replica_members_list_end(&m, 47 * S - 1);
	assert_int_equal(replica_members_count(&m, 47 * S), 2);
}

TEST(a_lease_that_is_deleted_frees_its_keys_at_once)
{
	const struct other others[] = {{"a", 1000}, {"c", 1000}, {}};
	struct replica_members m;

	replica_members_init(&m, "b");
	run(&m, others, 1, 30);
	assert_int_equal(replica_members_count(&m, 30 * S), 3);
	list(&m, NULL, 30 * S);
	assert_int_equal(owned(&m, 30 * S), 100);
}

TEST(two_agree_on_every_key)
{
	struct replica_members a, b;
	char key[24];
	unsigned n_a = 0;

	replica_members_init(&a, "a");
	replica_members_init(&b, "b");
	for (uint64_t s = 1; s <= 30; s++) {
		char version[8];

		snprintf(version, sizeof(version), "%u", (unsigned)s);
		replica_members_renewed(&a, s * S, s * S);
		replica_members_renewed(&b, s * S, s * S);
		replica_members_list_begin(&a);
		replica_members_list_add(&a, "a", version, true, s * S);
		replica_members_list_add(&a, "b", version, false, s * S);
		replica_members_list_end(&a, s * S);
		replica_members_list_begin(&b);
		replica_members_list_add(&b, "a", version, false, s * S);
		replica_members_list_add(&b, "b", version, true, s * S);
		replica_members_list_end(&b, s * S);
	}
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "key %u", i);
		assert_int_not_equal(replica_members_owns(&a, key, 30 * S),
				     replica_members_owns(&b, key, 30 * S));
		n_a += replica_members_owns(&a, key, 30 * S);
	}
	assert_in_range(n_a, 400, 600);
}

TEST(the_own_lease_in_other_hands_ends_the_work)
{
	struct replica_members m;

	replica_members_init(&m, "b");
	run(&m, NULL, 1, 30);
	/* a list from before the last renewal proves nothing */
	replica_members_list_begin(&m);
	replica_members_list_end(&m, 30 * S);
	assert_true(replica_members_active(&m, 31 * S));
	replica_members_list_begin(&m);
	replica_members_list_add(&m, "b", "5", false, 31 * S);
	replica_members_list_end(&m, 31 * S);
	assert_false(replica_members_active(&m, 31 * S));
	run(&m, NULL, 32, 48);
	assert_false(replica_members_active(&m, 48 * S));
	assert_true(replica_members_active(&m, 49 * S));
}

TEST(with_too_many_leases_nobody_works)
{
	struct replica_members m;
	char name[16];

	replica_members_init(&m, "b");
	run(&m, NULL, 1, 30);
	replica_members_list_begin(&m);
	replica_members_list_add(&m, "b", "own", true, 30 * S);
	for (unsigned i = 1; i <= REPLICA_MAX_MEMBERS; i++) {
		snprintf(name, sizeof(name), "b-%u", i);
		replica_members_list_add(&m, name, "1", false, 30 * S);
		assert_int_equal(m.too_many, i == REPLICA_MAX_MEMBERS);
	}
	replica_members_list_end(&m, 30 * S);
	assert_int_equal(owned(&m, 30 * S), 0);
	assert_int_equal(replica_members_count(&m, 30 * S), REPLICA_MAX_MEMBERS);
	list(&m, NULL, 31 * S);
	assert_int_equal(owned(&m, 31 * S), 100);
}

TEST(the_first_deletes_what_is_long_dead)
{
	const struct other dead[] = {{"a", 10}, {}};
	const struct other behind[] = {{"a", 10}, {"aa", 1000}, {}};
	struct replica_members m;

	replica_members_init(&m, "b");
	run(&m, dead, 1, 179);
	assert_null(replica_members_stale(&m, 180 * S - 1));
	assert_string_equal(replica_members_stale(&m, 180 * S)->name, "a");
	assert_string_equal(replica_members_stale(&m, 180 * S)->version, "10");
	run(&m, behind, 180, 190);
	assert_null(replica_members_stale(&m, 190 * S));
}
