/*
 * Tracks which members of a group of replicas are alive, and whether this one may work: a state
 * machine over the answers of the API server. Pure; times come from the caller, monotonic, in
 * ns.
 *
 * It guarantees that any two active members are in each other's view, so that they agree on the
 * owner of every key:
 * - A member is active only until REPLICA_PAUSE_NS after it *sent* its last successful renewal,
 *   and until as long after it sent its last list. Others drop it when a list that they sent
 *   REPLICA_EXPIRY_NS after they first saw its last version still shows that version. The
 *   difference between the two times allows for clocks that run at different speeds.
 * - A member that is new, or whose renewals had a gap of more than REPLICA_PAUSE_NS, waits for
 *   REPLICA_HANDOVER_NS after the answer to its renewal. Every member that is active by then has
 *   sent a list in the meantime, and has seen it.
 *
 * A Lease that disappears belongs to a member that has shut down: it stops working before it
 * deletes the Lease.
 */
#ifndef CLUSTER_AGENT_REPLICA_REPLICA_MEMBERS_H
#define CLUSTER_AGENT_REPLICA_REPLICA_MEMBERS_H

#include "cluster-agent/replica/replica_times.h"
#include "common/base.h"
#include "common/kubernetes/lease_json.h"

/* A Lease that has not changed for this long belongs to a dead member and is deleted. */
#define REPLICA_STALE_NS (10 * REPLICA_EXPIRY_NS)

struct replica_member {
	char name[LEASE_NAME_BYTES];
	char version[LEASE_VERSION_BYTES];
	uint64_t hash;    /* rendezvous_member() */
	uint64_t seen_ns; /* when the answer arrived that first showed this version */
	bool alive;
	bool listed; /* in the current list */
};

struct replica_members {
	char name[LEASE_NAME_BYTES];
	uint64_t hash;

	bool renewed;
	uint64_t renewed_ns; /* when the last successful renewal was sent */
	uint64_t acked_ns;   /* when its answer arrived */
	uint64_t joined_ns;  /* when the first of the uninterrupted renewals was answered */

	bool listed;
	bool too_many;
	bool listed_self;
	uint64_t listed_ns; /* when the last valid list was sent */

	/* The other members. */
	struct replica_member others[REPLICA_MAX_MEMBERS];
	size_t n_others;
	uint64_t generation; /* changes whenever the set of living members does */
};

/* name is that of our own Lease, shorter than LEASE_NAME_BYTES. */
void replica_members_init(struct replica_members *m, const char *name);

/* A renewal of our own Lease, sent at sent_ns, has succeeded. */
void replica_members_renewed(struct replica_members *m, uint64_t sent_ns, uint64_t now_ns);
/* Our own Lease was deleted or taken over. */
void replica_members_lost(struct replica_members *m);

/*
 * Reports a list: begin, each Lease, end. Until end, a list only counts for the versions it
 * shows. mine: it is our own Lease, and this process holds it.
 */
void replica_members_list_begin(struct replica_members *m);
void replica_members_list_add(struct replica_members *m, const char *name, const char *version,
			      bool mine, uint64_t now_ns);
void replica_members_list_end(struct replica_members *m, uint64_t sent_ns);

/* Whether this member may work at all. */
bool replica_members_active(const struct replica_members *m, uint64_t now_ns);
bool replica_members_owns(const struct replica_members *m, const char *key, uint64_t now_ns);
/*
 * The number of living members, including this one unless its renewals are older than
 * REPLICA_PAUSE_NS.
 */
size_t replica_members_count(const struct replica_members *m, uint64_t now_ns);

/* When replica_members_active() will change if nothing happens; UINT64_MAX: never. */
uint64_t replica_members_turn_ns(const struct replica_members *m, uint64_t now_ns);
/*
 * The earliest time at which a list, if sent then, may find a member dead; UINT64_MAX: never.
 */
uint64_t replica_members_expiry_ns(const struct replica_members *m);

/*
 * Returns a Lease that this member should delete, as of the last list, or NULL: that is the
 * task of the first of the living members. Borrowed until the next list.
 */
const struct replica_member *replica_members_stale(const struct replica_members *m,
						   uint64_t now_ns);

/*
 * Rendezvous hashing: a key belongs to the member with the highest score for it. When a member
 * joins or leaves, only the keys move that it gets or had. Pure.
 *
 * Members of different releases and architectures must agree on every score, so this must never
 * change. XXH3's results are fixed since xxHash 0.8.0.
 */

/* Represents the member of that name in rendezvous_score(). */
uint64_t rendezvous_member(const char *name);

uint64_t rendezvous_score(uint64_t member, const char *key);

#endif /* CLUSTER_AGENT_REPLICA_REPLICA_MEMBERS_H */
