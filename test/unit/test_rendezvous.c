#include "cluster-agent/replica/replica_members.h"
#include "test/lib/unit.h"

#define N_MEMBERS 5
#define N_KEYS 10000

static unsigned owner(const uint64_t *members, unsigned n, unsigned key)
{
	unsigned best = 0;
	char text[40];

	/* like uids of pods: long, and different in a few places only */
	snprintf(text, sizeof(text), "c1c9bd4e-92e8-4d53-8f7c-%012x", key);
	for (unsigned i = 1; i < n; i++)
		if (rendezvous_score(members[i], text) > rendezvous_score(members[best], text))
			best = i;
	return best;
}

static void make_members(uint64_t *members)
{
	char name[40];

	for (unsigned i = 0; i < N_MEMBERS; i++) {
		snprintf(name, sizeof(name), "coroot-cluster-agent-%u", i);
		members[i] = rendezvous_member(name);
	}
}

TEST(scores_never_change)
{
	uint64_t m = rendezvous_member("cluster-agent-0");

	/* by another implementation of XXH3 */
	assert_int_equal(m, UINT64_C(0x196d5a5eeb31fc4a));
	assert_int_equal(rendezvous_score(m, "a key"), UINT64_C(0xf4e314167f994aec));
}

TEST(every_member_gets_its_share)
{
	uint64_t members[N_MEMBERS];
	unsigned n_keys[N_MEMBERS] = {0};

	make_members(members);
	for (unsigned k = 0; k < N_KEYS; k++)
		n_keys[owner(members, N_MEMBERS, k)]++;
	for (unsigned i = 0; i < N_MEMBERS; i++)
		assert_in_range(n_keys[i], N_KEYS / N_MEMBERS * 9 / 10,
				N_KEYS / N_MEMBERS * 11 / 10);
}

TEST(only_the_keys_of_a_joining_or_leaving_member_move)
{
	uint64_t members[N_MEMBERS];
	unsigned n_moved = 0;

	make_members(members);
	for (unsigned k = 0; k < N_KEYS; k++) {
		unsigned with = owner(members, N_MEMBERS, k);
		unsigned without = owner(members, N_MEMBERS - 1, k);

		if (with == without)
			continue;
		assert_int_equal(with, N_MEMBERS - 1);
		n_moved++;
	}
	assert_in_range(n_moved, N_KEYS / N_MEMBERS * 9 / 10, N_KEYS / N_MEMBERS * 11 / 10);
}
