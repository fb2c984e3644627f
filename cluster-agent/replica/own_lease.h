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
#include "common/kubernetes/lease_record.h"

struct own_lease {
	struct lease_record record;
	bool was_held;
	bool is_taking; /* the next write takes it over */
	bool was_taken; /* taken over rather than created */
	uint64_t taken_ns;
	bool has_rival;
};

/* Both must fit their arrays. */
void own_lease_init(struct own_lease *o, const char *name, const char *holder);

/*
 * Handles the answer to a read that was sent at sent_ns; l is NULL if there is no Lease.
 * Returns whether this process holds the Lease.
 */
bool own_lease_read(struct own_lease *o, const struct lease *l, uint64_t sent_ns, uint64_t now_ns);
/* It was created or written, with this result. */
void own_lease_written(struct own_lease *o, const struct lease *l, uint64_t now_ns);

/*
 * Whether a member that shuts down may delete its Lease, after which others take its keys at
 * once. Not right after taking it over from another process, which may be cut off and still
 * working.
 */
bool own_lease_may_delete(const struct own_lease *o, uint64_t now_ns);

#endif /* CLUSTER_AGENT_REPLICA_OWN_LEASE_H */
