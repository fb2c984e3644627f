/*
 * Who is alive in a group of replicas, and whether this one may work: a state machine over what the
 * API server said. Pure; times are the caller's, monotonic, in ns.
 *
 * It holds that two active members are in each other's view, so that they agree on the owner of
 * every key:
 * - A member is active only until REPLICA_PAUSE_NS after it *sent* the last renewal that succeeded,
 *   and until as long after it sent its last list. Others drop it when a list sent
 *   REPLICA_EXPIRY_NS after they first saw its last version still shows that version: the
 *   difference of the two is for clocks that run differently fast.
 * - A member that is new, or whose renewals had a gap of more than REPLICA_PAUSE_NS, waits for
 *   REPLICA_HANDOVER_NS after the answer to its renewal. Who is active by then has sent a list
 *   since, and knows it.
 *
 * A Lease that disappears is that of a member that has ended: it stops working before it deletes
 * the Lease.
 */
#ifndef CLUSTER_AGENT_REPLICA_REPLICA_MEMBERS_H
#define CLUSTER_AGENT_REPLICA_REPLICA_MEMBERS_H

#include "cluster-agent/replica/lease_json.h"
#include "cluster-agent/replica/replica_set.h"
#include "common/base.h"

/* After that much more of the same version the Lease of a dead member is rubbish. */
#define REPLICA_STALE_NS (10 * REPLICA_EXPIRY_NS)

struct replica_member {
	char name[LEASE_NAME_BYTES];
	char version[LEASE_VERSION_BYTES];
	uint64_t hash;    /* rendezvous_member() */
	uint64_t seen_ns; /* when the answer came that showed this version for the first time */
	bool alive;
	bool listed; /* by the list being read */
};

struct replica_members {
	char name[LEASE_NAME_BYTES];
	uint64_t hash;

	bool renewed;
	uint64_t renewed_ns; /* the last successful renewal was sent */
	uint64_t acked_ns;   /* its answer came */
	uint64_t joined_ns;  /* the answer to the first of an unbroken row of renewals */

	bool listed;
	bool too_many;
	bool listed_self;
	uint64_t listed_ns; /* the last good list was sent */

	/* Others than this one, by name. */
	struct replica_member others[REPLICA_MAX_MEMBERS];
	size_t n_others;
	uint64_t generation; /* changes with who is alive */
};

/* name is that of the own Lease, shorter than LEASE_NAME_BYTES. */
void replica_members_init(struct replica_members *m, const char *name);

/* A renewal of the own Lease, sent at sent_ns, succeeded. */
void replica_members_renewed(struct replica_members *m, uint64_t sent_ns, uint64_t now_ns);
/* The own Lease is gone or another's. */
void replica_members_lost(struct replica_members *m);

/*
 * What a list shows: begin, each Lease, end. Without end it counts for nothing, but for versions
 * seen. mine: it is the own one and this process holds it.
 */
void replica_members_list_begin(struct replica_members *m);
void replica_members_list_add(struct replica_members *m, const char *name, const char *version,
			      bool mine, uint64_t now_ns);
void replica_members_list_end(struct replica_members *m, uint64_t sent_ns);

/* Whether this member works at all. */
bool replica_members_active(const struct replica_members *m, uint64_t now_ns);
bool replica_members_owns(const struct replica_members *m, const char *key, uint64_t now_ns);
/* Living members, this one included while its renewals are not older than REPLICA_PAUSE_NS. */
size_t replica_members_count(const struct replica_members *m, uint64_t now_ns);

/* When replica_members_active() changes if nothing happens; UINT64_MAX: never. */
uint64_t replica_members_turn_ns(const struct replica_members *m, uint64_t now_ns);
/* When a list sent then may find a member dead; UINT64_MAX: none. */
uint64_t replica_members_expiry_ns(const struct replica_members *m);

/*
 * A Lease that this member is to delete, as of the last list: the first of all active members does
 * so. NULL: none. Borrowed until the next list.
 */
const struct replica_member *replica_members_stale(const struct replica_members *m,
						   uint64_t now_ns);

#endif /* CLUSTER_AGENT_REPLICA_REPLICA_MEMBERS_H */
