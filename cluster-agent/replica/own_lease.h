/*
 * The Lease of this member: what to ask of the API server next, from what it answered. Pure; times
 * are the caller's, monotonic.
 *
 * A process that comes takes the Lease of its name from whoever holds it: that is the one that was
 * restarted, more often than not, and it does not begin before a living one has noticed
 * (replica_members.h). Who lost it takes it back only when it has not changed for
 * REPLICA_EXPIRY_NS.
 */
#ifndef CLUSTER_AGENT_REPLICA_OWN_LEASE_H
#define CLUSTER_AGENT_REPLICA_OWN_LEASE_H

#include "cluster-agent/replica/lease_json.h"
#include "common/base.h"

#define OWN_LEASE_HOLDER_BYTES (LEASE_NAME_BYTES + 20)

enum own_lease_step {
	OWN_LEASE_READ, /* GET */
	OWN_LEASE_CREATE,
	OWN_LEASE_WRITE, /* PUT: renew it, or take it from another holder */
};

struct own_lease {
	char name[LEASE_NAME_BYTES];
	char holder[OWN_LEASE_HOLDER_BYTES]; /* this process: no other ever has the same */
	enum own_lease_step step;

	/* The Lease as it is to be written. */
	char version[LEASE_VERSION_BYTES];
	char uid[LEASE_VERSION_BYTES];
	char acquired[LEASE_TIME_BYTES]; /* "": with this write */
	int64_t transitions;

	bool was_held;
	bool is_taking; /* the next write takes it from another holder */
	bool was_taken; /* not created */
	uint64_t taken_ns;
	bool has_rival;
	char rival_version[LEASE_VERSION_BYTES];
	uint64_t rival_seen_ns; /* that version for the first time */
};

/* Both shorter than their arrays. */
void own_lease_init(struct own_lease *o, const char *name, const char *holder);

/*
 * What OWN_LEASE_READ, sent at sent_ns, brought; l is NULL: there is none. Whether the Lease is
 * held by this process.
 */
bool own_lease_read(struct own_lease *o, const struct lease *l, uint64_t sent_ns, uint64_t now_ns);
/* OWN_LEASE_CREATE or _WRITE succeeded and left this. */
void own_lease_written(struct own_lease *o, const struct lease *l, uint64_t now_ns);
/* It was refused, or nobody knows what it did. */
void own_lease_unknown(struct own_lease *o);

/*
 * Whether a member that ends may delete it, upon which others take its keys at once. Not just after
 * it was taken from another process, which may be cut off and still at work.
 */
bool own_lease_may_delete(const struct own_lease *o, uint64_t now_ns);

/* What to write; borrowed from o. */
void own_lease_text(const struct own_lease *o, struct lease *ret);

#endif /* CLUSTER_AGENT_REPLICA_OWN_LEASE_H */
