/*
 * Takes part in the election of a leader by a Lease, and says whether this process leads. Loop
 * thread only. leader_lease.h has the rules.
 */
#ifndef CLUSTER_AGENT_OPERATOR_LEADER_H
#define CLUSTER_AGENT_OPERATOR_LEADER_H

#include "common/base.h"
#include "common/kubernetes/kube_client.h"
#include "common/system/loop.h"

struct leader;

struct leader_config {
	struct kube_client *client; /* borrowed */
	struct loop *loop;
	const char *namespace;
	const char *lease; /* its name */
	void *ctx;
	/* leader_leads() has changed. Never called from within a function below but release. */
	void (*changed)(void *ctx);
};

/* Returns 0, -ENOMEM, -EINVAL if the namespace or name is none, or -errno. */
int leader_new(struct leader **ret, const struct leader_config *cfg) MUST_CHECK;
/* Does not give the Lease up. */
void leader_free(struct leader *l);
DEFINE_CLEANUP(struct leader *, leader_free);

/* As of now: to be asked before each write, since the loop may be late. */
bool leader_leads(const struct leader *l);
/* Stops leading at once and gives the Lease up, then calls done, at the latest after 3 s. */
void leader_release(struct leader *l, loop_fn done, void *ctx);

/* Whether the Lease was read, and the last request about it succeeded. */
bool leader_works(const struct leader *l);
/* One line about who leads, or why the Lease cannot be had; borrowed until the next turn. */
const char *leader_state(const struct leader *l);

#endif /* CLUSTER_AGENT_OPERATOR_LEADER_H */
