/*
 * Shares work among the replicas of the cluster-agent: each keeps a Lease (coordination.k8s.io/v1)
 * alive, all see the same members, and a key belongs to the member with the highest hash of
 * (member, key). Loop thread only.
 *
 * Nothing is done twice: a member works only REPLICA_PAUSE_NS beyond the last renewal and the last
 * list that succeeded; others take its keys when its Lease has not changed for REPLICA_EXPIRY_NS,
 * measured with their own monotonic clock (clocks of nodes may differ, and run up to 10 %
 * differently fast). Who is new has its keys let go by the others when they see it, and begins
 * REPLICA_HANDOVER_NS after it came. The keys of a member that dies have a new owner within 30 s as
 * long as the API server answers within REPLICA_TIMEOUT_NS; one that ends deletes its Lease, so
 * that they move at once. Who deletes the Lease of a living member by hand has its keys worked on
 * twice until that member's next renewal.
 *
 * Of two processes with the same name the one that came last works; the other has nothing, says so,
 * and goes on when the first is dead.
 */
#ifndef CLUSTER_AGENT_REPLICA_REPLICA_SET_H
#define CLUSTER_AGENT_REPLICA_REPLICA_SET_H

#include "cluster-agent/kubernetes/kube_client.h"
#include "common/base.h"
#include "common/system/clock.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"

#define REPLICA_RENEW_NS (3 * NS_PER_S)   /* between renewals, and between lists */
#define REPLICA_TIMEOUT_NS (3 * NS_PER_S) /* of one request */
#define REPLICA_PAUSE_NS (13 * NS_PER_S)
#define REPLICA_EXPIRY_NS (17 * NS_PER_S)
#define REPLICA_HANDOVER_NS (17 * NS_PER_S)
/*
 * Leases in the group; with more of them nobody works. Those of the dead are deleted after some
 * minutes.
 */
#define REPLICA_MAX_MEMBERS 256

struct replica_set;

struct replica_set_config {
	struct kube_client *client; /* borrowed */
	struct loop *loop;
	const char *namespace; /* of the Leases */
	const char *group;     /* a DNS label; the Leases' label coroot.com/replica-group */
	const char *name;      /* of this member, unique in the group: the pod's name */
	uint64_t renew_ns;     /* 0: REPLICA_RENEW_NS; at most that */
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
