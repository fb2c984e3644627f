/*
 * Finds pods with profiling annotations and reports when they appear, change and disappear.
 * Loop thread only.
 *
 * Watches running pods (field selector status.phase=Running), so a pod that leaves Running
 * disappears like one that is deleted. Needs the verbs get, list and watch on pods.
 * pod_target.h describes the annotations; a mistake in them is reported as the problem of the
 * target, not in the log. While the API server is unreachable or sends a new list, targets stay
 * as they are. Nothing is kept of pods without annotations, nor of those beyond
 * DISCOVERY_MAX_TARGETS, which are counted.
 */
#ifndef CLUSTER_AGENT_DISCOVER_DISCOVERY_H
#define CLUSTER_AGENT_DISCOVER_DISCOVERY_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/kubernetes/kube_client.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"

#define DISCOVERY_MAX_TARGETS ((size_t)50000)

struct discovery;

struct discovery_config {
	struct kube_client *client; /* borrowed */
	struct loop *loop;
	const char *namespace;        /* all of them if NULL or "" */
	bool kinds[PROFILE_KIND_MAX]; /* for pods that do not name the kinds they want */
	const char *pod_labels;       /* become labels of profiles: label_keys.h; checked */
	void *ctx;
	/*
	 * The target is new, or differs from the last one with its uid; valid during the call.
	 * Returns 0, or -ENOMEM if it was not taken in: it is then passed again, with back-off.
	 */
	int (*upsert)(void *ctx, const struct scrape_target *t);
	void (*remove)(void *ctx, const char *uid);
};

/* Returns 0, -EINVAL if the namespace is not a valid name, or -ENOMEM, -EMFILE … */
int discovery_new(struct discovery **ret, const struct discovery_config *cfg) MUST_CHECK;
void discovery_free(struct discovery *d);
DEFINE_CLEANUP(struct discovery *, discovery_free);

/* See kube_watch_synced() and kube_watch_problem(). */
bool discovery_synced(const struct discovery *d);
const char *discovery_problem(const struct discovery *d);

/*
 * Registers coroot_cluster_agent_discovery_… and the watch's metrics. Call before other threads
 * start.
 */
int discovery_register(struct discovery *d, struct metrics *ms) MUST_CHECK;

#endif /* CLUSTER_AGENT_DISCOVER_DISCOVERY_H */
