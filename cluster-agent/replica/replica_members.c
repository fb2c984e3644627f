/*
 * There is no leader and no lock: every member decides for itself, from its own view, whether
 * it may work and which keys it owns. That is safe only because of the times, whose relations
 * the assertions below check.
 *
 * Clocks of nodes differ, so no time of another node is ever compared, not even renewTime: a
 * member is alive if the version of its Lease has changed recently, as measured by the
 * observer's own clock. Delays are always counted to the safe side: our own renewal from when
 * it was *sent*, another member's from when we *saw* it.
 *
 * A member that loses touch with the API server therefore stops by itself, before the others
 * take its keys.
 */
#include "cluster-agent/replica/replica_members.h"

#include "common/data/table.h"

_Static_assert(REPLICA_PAUSE_NS < REPLICA_EXPIRY_NS, "a member pauses before others take its keys");
_Static_assert(REPLICA_PAUSE_NS < REPLICA_HANDOVER_NS, "others know a member before it begins");
_Static_assert(2 * (REPLICA_RENEW_NS + REPLICA_TIMEOUT_NS) <= REPLICA_PAUSE_NS,
	       "one lost request does not pause a member");
_Static_assert(REPLICA_RENEW_NS + 3 * REPLICA_TIMEOUT_NS + REPLICA_EXPIRY_NS < 30 * NS_PER_S,
	       "the keys of a dead member move in time");

void replica_members_init(struct replica_members *m, const char *name)
{
	*m = (struct replica_members){.hash = rendezvous_member(name)};
	snprintf(m->name, sizeof(m->name), "%s", name);
}

/* Whether our last renewal still counts. If not, others may have taken our keys. */
static bool is_believed(const struct replica_members *m, uint64_t now_ns)
{
	return m->renewed && now_ns < m->renewed_ns + REPLICA_PAUSE_NS;
}

void replica_members_renewed(struct replica_members *m, uint64_t sent_ns, uint64_t now_ns)
{
	if (!is_believed(m, now_ns))
		m->joined_ns = now_ns;
	m->renewed = true;
	m->renewed_ns = sent_ns;
	m->acked_ns = now_ns;
}

void replica_members_lost(struct replica_members *m)
{
	m->renewed = false;
}

void replica_members_list_begin(struct replica_members *m)
{
	m->too_many = false;
	m->listed_self = false;
	for (size_t i = 0; i < m->n_others; i++)
		m->others[i].listed = false;
}

static struct replica_member *find_other(struct replica_members *m, const char *name)
{
	for (size_t i = 0; i < m->n_others; i++)
		if (!strcmp(m->others[i].name, name))
			return &m->others[i];
	return NULL;
}

static struct replica_member *add_other(struct replica_members *m, const char *name)
{
	struct replica_member *o;

	/* this one counts as a member, too */
	if (m->n_others + 1 >= REPLICA_MAX_MEMBERS)
		return NULL;
	o = &m->others[m->n_others++];
	*o = (struct replica_member){.hash = rendezvous_member(name)};
	snprintf(o->name, sizeof(o->name), "%s", name);
	return o;
}

void replica_members_list_add(struct replica_members *m, const char *name, const char *version,
			      bool mine, uint64_t now_ns)
{
	struct replica_member *o;

	if (!strcmp(name, m->name)) {
		m->listed_self = mine;
		return;
	}
	o = find_other(m, name);
	if (!o)
		o = add_other(m, name);
	if (!o) {
		m->too_many = true;
		return;
	}
	o->listed = true;
	if (!strcmp(o->version, version))
		return;
	snprintf(o->version, sizeof(o->version), "%s", version);
	o->seen_ns = now_ns;
	m->generation += !o->alive;
	o->alive = true;
}

void replica_members_list_end(struct replica_members *m, uint64_t sent_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_others; i++) {
		struct replica_member *o = &m->others[i];
		bool dies = o->alive && (!o->listed || sent_ns >= o->seen_ns + REPLICA_EXPIRY_NS);

		m->generation += dies;
		o->alive = o->alive && !dies;
		if (!o->listed)
			continue;
		if (n != i)
			m->others[n] = *o;
		n++;
	}
	m->n_others = n;
	m->listed = true;
	m->listed_ns = sent_ns;
	if (!m->listed_self && sent_ns > m->acked_ns)
		replica_members_lost(m);
}

bool replica_members_active(const struct replica_members *m, uint64_t now_ns)
{
	return is_believed(m, now_ns) && now_ns >= m->joined_ns + REPLICA_HANDOVER_NS &&
	       m->listed && now_ns < m->listed_ns + REPLICA_PAUSE_NS && !m->too_many;
}

bool replica_members_owns(const struct replica_members *m, const char *key, uint64_t now_ns)
{
	uint64_t own;

	if (!replica_members_active(m, now_ns))
		return false;
	own = rendezvous_score(m->hash, key);
	for (size_t i = 0; i < m->n_others; i++) {
		const struct replica_member *o = &m->others[i];
		uint64_t score;

		if (!o->alive)
			continue;
		score = rendezvous_score(o->hash, key);
		if (score > own || (score == own && strcmp(o->name, m->name) < 0))
			return false;
	}
	return true;
}

size_t replica_members_count(const struct replica_members *m, uint64_t now_ns)
{
	size_t n = is_believed(m, now_ns);

	for (size_t i = 0; i < m->n_others; i++)
		n += m->others[i].alive;
	return n;
}

static uint64_t later_than(uint64_t now_ns, uint64_t t, uint64_t otherwise)
{
	return t > now_ns && t < otherwise ? t : otherwise;
}

uint64_t replica_members_turn_ns(const struct replica_members *m, uint64_t now_ns)
{
	uint64_t t = UINT64_MAX;

	if (m->renewed) {
		t = later_than(now_ns, m->renewed_ns + REPLICA_PAUSE_NS, t);
		t = later_than(now_ns, m->joined_ns + REPLICA_HANDOVER_NS, t);
	}
	if (m->listed)
		t = later_than(now_ns, m->listed_ns + REPLICA_PAUSE_NS, t);
	return t;
}

uint64_t replica_members_expiry_ns(const struct replica_members *m)
{
	uint64_t t = UINT64_MAX;

	for (size_t i = 0; i < m->n_others; i++) {
		const struct replica_member *o = &m->others[i];

		if (o->alive && o->seen_ns + REPLICA_EXPIRY_NS < t)
			t = o->seen_ns + REPLICA_EXPIRY_NS;
	}
	return t;
}

const struct replica_member *replica_members_stale(const struct replica_members *m, uint64_t now_ns)
{
	const struct replica_member *stale = NULL;

	/* works even with too many members to be active: then it is needed most */
	if (!is_believed(m, now_ns))
		return NULL;
	for (size_t i = 0; i < m->n_others; i++) {
		const struct replica_member *o = &m->others[i];

		if (o->alive && strcmp(o->name, m->name) < 0)
			return NULL;
		if (!o->alive && now_ns >= o->seen_ns + REPLICA_STALE_NS)
			stale = o;
	}
	return stale;
}

/* ---- who scrapes what ---- */

/*
 * Replicas must agree who scrapes which pod without talking to each other about pods. Each
 * computes a score for every pair of member and key; the highest one wins. With N members that
 * is N hashes per key, which is cheap enough here (at most 256 members), and unlike a ring of
 * virtual nodes it balances well with two or three members and has no state.
 *
 * The member's hash is the seed of the key's hash, so a key costs one hash per member.
 */

/* "coroot"; table_seed differs from process to process */
#define SEED UINT64_C(0x636f726f6f74)

uint64_t rendezvous_member(const char *name)
{
	return XXH3_64bits_withSeed(name, strlen(name), SEED);
}

uint64_t rendezvous_score(uint64_t member, const char *key)
{
	return XXH3_64bits_withSeed(key, strlen(key), member);
}
