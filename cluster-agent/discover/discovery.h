/*
 * Pods with profiling annotations, as they come, change and go. Loop thread only.
 *
 * Watches running pods (field selector status.phase=Running), so a pod that leaves Running is gone
 * like one that is deleted. Needs get, list and watch of pods. What each annotation
 * means is in pod_target.h; what a pod got wrong is told as a target with a problem, not in the log.
 * While the API server is away or lists anew, targets stay as they are. Of pods that do not ask
 * nothing is kept; of those beyond DISCOVERY_MAX_TARGETS neither, but they are counted.
 */
#ifndef CLUSTER_AGENT_DISCOVER_DISCOVERY_H
#define CLUSTER_AGENT_DISCOVER_DISCOVERY_H

#include "cluster-agent/discover/scrape_target.h"
#include "cluster-agent/kubernetes/kube_client.h"
#include "common/base.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"

#define DISCOVERY_MAX_TARGETS ((size_t)50000)

struct discovery;

struct discovery_config {
	struct kube_client *client; /* borrowed */
	struct loop *loop;
	const char *namespace;        /* NULL or "": all */
	bool kinds[PROFILE_KIND_MAX]; /* what pods that do not say are scraped for */
	void *ctx;
	/* New or different from what was told before under its uid; valid during the call. */
	void (*upsert)(void *ctx, const struct scrape_target *t);
	void (*remove)(void *ctx, const char *uid);
};

/* -EINVAL: not a name for a namespace. -ENOMEM, -EMFILE … */
int discovery_new(struct discovery **ret, const struct discovery_config *cfg) MUST_CHECK;
void discovery_free(struct discovery *d);
DEFINE_CLEANUP(struct discovery *, discovery_free);

/* As kube_watch_synced() and kube_watch_problem(). */
bool discovery_synced(const struct discovery *d);
const char *discovery_problem(const struct discovery *d);

/* coroot_cluster_agent_discovery_… and the watch's. Call before other threads start. */
int discovery_register(struct discovery *d, struct metrics *ms) MUST_CHECK;

#endif /* CLUSTER_AGENT_DISCOVER_DISCOVERY_H */
