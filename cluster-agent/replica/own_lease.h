/*
 * The state machine of this member's own Lease: decides the next request from the last answer.
 * Pure; times come from the caller, monotonic.
 *
 * A starting process takes over the Lease of its name from any holder, which usually is the
 * process before a restart. It does not start working before a living holder must have noticed
 * (replica_members.h). A process that has lost its Lease takes it back only if the Lease has
 * not changed for REPLICA_EXPIRY_NS.
 */
#ifndef CLUSTER_AGENT_REPLICA_OWN_LEASE_H
#define CLUSTER_AGENT_REPLICA_OWN_LEASE_H

#include "common/base.h"
#include "common/kubernetes/lease_json.h"

#define OWN_LEASE_HOLDER_BYTES (LEASE_NAME_BYTES + 20)

enum own_lease_step {
	OWN_LEASE_READ, /* GET */
	OWN_LEASE_CREATE,
	OWN_LEASE_WRITE, /* PUT: renew it, or take it over */
};

struct own_lease {
	char name[LEASE_NAME_BYTES];
	char holder[OWN_LEASE_HOLDER_BYTES]; /* identifies this process; never used by another */
	enum own_lease_step step;

	/* The Lease as it will be written. */
	char version[LEASE_VERSION_BYTES];
	char uid[LEASE_VERSION_BYTES];
	char acquired[LEASE_TIME_BYTES]; /* "": acquired by this write */
	int64_t transitions;

	bool was_held;
	bool is_taking; /* the next write takes it over */
	bool was_taken; /* taken over rather than created */
	uint64_t taken_ns;
	bool has_rival;
	char rival_version[LEASE_VERSION_BYTES];
	uint64_t rival_seen_ns; /* when that version was first seen */
};

/* Both must fit their arrays. */
void own_lease_init(struct own_lease *o, const char *name, const char *holder);

/*
 * Handles the answer to an OWN_LEASE_READ that was sent at sent_ns; l is NULL if there is no
 * Lease. Returns whether this process holds the Lease.
 */
bool own_lease_read(struct own_lease *o, const struct lease *l, uint64_t sent_ns, uint64_t now_ns);
/* OWN_LEASE_CREATE or OWN_LEASE_WRITE succeeded with this result. */
void own_lease_written(struct own_lease *o, const struct lease *l, uint64_t now_ns);
/* A write was refused, or its result is unknown: read the Lease next. */
void own_lease_unknown(struct own_lease *o);

/*
 * Whether a member that shuts down may delete its Lease, after which others take its keys at
 * once. Not right after taking it over from another process, which may be cut off and still
 * working.
 */
bool own_lease_may_delete(const struct own_lease *o, uint64_t now_ns);

/* The Lease to write; strings are borrowed from o. */
void own_lease_text(const struct own_lease *o, struct lease *ret);

#endif /* CLUSTER_AGENT_REPLICA_OWN_LEASE_H */
