/*
 * Shares work among the replicas of the cluster-agent: each keeps a Lease
 * (coordination.k8s.io/v1) alive, all see the same members, and a key belongs to the member with
 * the highest hash of (member, key). Loop thread only.
 *
 * Nothing is done twice: a key that moves between two living members is let go at once by the old
 * one and begun by the new one only REPLICA_HANDOVER_NS later; a member that could not renew its
 * Lease for REPLICA_PAUSE_NS owns nothing until it can; others take its keys after
 * REPLICA_EXPIRY_NS without a change of its Lease, measured with their own monotonic clock (clocks of
 * nodes may differ). A member that ends deletes its Lease, so that its keys move at once. While the
 * own list of Leases fails, nobody is declared dead.
 */
#ifndef CLUSTER_AGENT_REPLICA_REPLICA_SET_H
#define CLUSTER_AGENT_REPLICA_REPLICA_SET_H

#include "cluster-agent/kubernetes/kube_client.h"
#include "common/base.h"
#include "common/clock.h"
#include "common/loop.h"
#include "common/metrics.h"

#define REPLICA_RENEW_NS (4 * NS_PER_S)
#define REPLICA_PAUSE_NS (14 * NS_PER_S)
#define REPLICA_EXPIRY_NS (18 * NS_PER_S)
#define REPLICA_HANDOVER_NS (10 * NS_PER_S)
#define REPLICA_MAX_MEMBERS 256

struct replica_set;

struct replica_set_config {
	struct kube_client *client; /* borrowed */
	struct loop *loop;
	const char *namespace; /* of the Leases */
	const char *group;     /* a DNS label; the Leases' label coroot.com/replica-group */
	const char *name;      /* of this member, unique in the group: the pod's name */
	void *ctx;
	void (*changed)(void *ctx); /* ask replica_set_owns() again for every key */
};

int replica_set_new(struct replica_set **ret, const struct replica_set_config *cfg) MUST_CHECK;
void replica_set_free(struct replica_set *rs);
DEFINE_CLEANUP(struct replica_set *, replica_set_free);

/* Deletes the own Lease; done is called when that is over, one way or the other, within 3 s. */
void replica_set_leave(struct replica_set *rs, loop_fn done, void *ctx);

/* Whether this member works on key now. */
bool replica_set_owns(const struct replica_set *rs, const char *key);
/* Living members, this one included while its Lease is alive. */
size_t replica_set_count(const struct replica_set *rs);

/* coroot_cluster_agent_replica_…; call before other threads start. */
int replica_set_register(struct replica_set *rs, struct metrics *ms) MUST_CHECK;

#endif /* CLUSTER_AGENT_REPLICA_REPLICA_SET_H */
