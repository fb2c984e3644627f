/*
 * Shares work among the replicas of the cluster-agent. Each replica keeps a Lease
 * (coordination.k8s.io/v1) alive, all see the same members, and a key belongs to the member
 * with the highest hash of (member, key). Loop thread only.
 *
 * No key is worked on twice. A member works for at most REPLICA_PAUSE_NS after its last
 * successful renewal and list. Others take its keys when its Lease has not changed for
 * REPLICA_EXPIRY_NS, by their own monotonic clocks (clocks of nodes may differ, and run at
 * speeds that differ by up to 10 %). When a new member appears, the others give up its keys as
 * soon as they see it, and it starts REPLICA_HANDOVER_NS after its first renewal. The keys of a
 * member that dies have a new owner within 30 s, as long as the API server answers within
 * REPLICA_TIMEOUT_NS. A member that shuts down deletes its Lease, so that its keys move at
 * once. The exception: if somebody deletes the Lease of a living member by hand, its keys are
 * worked on twice until its next renewal.
 *
 * Of two processes with the same name, the one that started last works. The other one owns
 * nothing, says so in the log, and takes over when the first one is dead.
 */
#ifndef CLUSTER_AGENT_REPLICA_REPLICA_SET_H
#define CLUSTER_AGENT_REPLICA_REPLICA_SET_H

#include "cluster-agent/replica/replica_times.h"
#include "common/base.h"
#include "common/kubernetes/kube_client.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"

struct replica_set;

struct replica_set_config {
	struct kube_client *client; /* borrowed */
	struct loop *loop;
	const char *namespace; /* of the Leases */
	const char *group; /* a DNS label; value of the Leases' label coroot.com/replica-group */
	const char *name;  /* of this member, unique in the group, such as the pod's name */
	uint64_t renew_ns; /* 0: REPLICA_RENEW_NS, which is also the maximum */
	void *ctx;
	void (*changed)(void *ctx); /* call replica_set_owns() again for every key */
};

int replica_set_new(struct replica_set **ret, const struct replica_set_config *cfg) MUST_CHECK;
void replica_set_free(struct replica_set *rs);
DEFINE_CLEANUP(struct replica_set *, replica_set_free);

/* Deletes our own Lease. done is called within 3 s, whether or not that succeeded. */
void replica_set_leave(struct replica_set *rs, loop_fn done, void *ctx);

/* Whether this member owns key at the moment. */
bool replica_set_owns(const struct replica_set *rs, const char *key);
/* The number of living members, including this one while its Lease is alive. */
size_t replica_set_count(const struct replica_set *rs);

/* Registers coroot_cluster_agent_replica_…. Call before other threads start. */
int replica_set_register(struct replica_set *rs, struct metrics *ms) MUST_CHECK;

#endif /* CLUSTER_AGENT_REPLICA_REPLICA_SET_H */
