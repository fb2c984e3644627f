/*
 * Leader election by one Lease: decides the next request from the last answer, and whether this
 * process leads. Pure; times come from the caller, monotonic, in ns.
 *
 * Two processes never lead at once, whatever their clocks show:
 * - A leader leads until LEADER_DEADLINE_NS after it *sent* its last successful renewal.
 * - Another process takes the Lease over once a read that it sent LEADER_EXPIRY_NS after it first
 *   saw the Lease's version still shows that version; the leader wrote it before that.
 * The difference between the two times allows for clocks of different speed, and for requests of
 * the old leader that are under way. A write names the version that it replaces, so of several
 * that take the Lease over one succeeds.
 */
#ifndef CLUSTER_AGENT_OPERATOR_LEADER_LEASE_H
#define CLUSTER_AGENT_OPERATOR_LEADER_LEASE_H

#include "common/base.h"
#include "common/kubernetes/lease_record.h"
#include "common/system/clock.h"

/* The times of controller-runtime. */
#define LEADER_EXPIRY_NS (15 * NS_PER_S)
#define LEADER_DEADLINE_NS (10 * NS_PER_S)
#define LEADER_RETRY_NS (2 * NS_PER_S) /* between renewals, and between reads of who waits */

struct leader_lease {
	struct lease_record record;
	bool renewed;
	uint64_t renewed_ns; /* when the last successful write was sent */
};

/* Both must fit their arrays. */
void leader_lease_init(struct leader_lease *l, const char *name, const char *holder);

/*
 * Handles the answer to a read that was sent at sent_ns; got is NULL if there is no Lease.
 * Returns whether the next step is to be taken at once; otherwise it is another read, after
 * LEADER_RETRY_NS.
 */
bool leader_lease_read(struct leader_lease *l, const struct lease *got, uint64_t sent_ns,
		       uint64_t now_ns);
/* It was created or written by a request that was sent at sent_ns, with this result. */
void leader_lease_written(struct leader_lease *l, const struct lease *got, uint64_t sent_ns);

bool leader_lease_leads(const struct leader_lease *l, uint64_t now_ns);

#endif /* CLUSTER_AGENT_OPERATOR_LEADER_LEASE_H */
