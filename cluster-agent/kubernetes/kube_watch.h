/*
 * Follows all objects of one kind: list in pages, then watch from there, for ever. Loop thread
 * only.
 *
 * Ended watches resume from the last resource version (bookmarks move it on). 410 Gone, as a
 * status or as an event, and any answer that cannot be understood lead to a new list; the owner
 * keeps what it knows until that list is whole. Failures are retried with back-off and jitter,
 * up to a minute. A server that sends nothing for KUBE_WATCH_IDLE_NS, not even a bookmark, is
 * asked anew for a short watch; it has a problem when that does not end either. Memory: one
 * object at a time. An object that is too large, or is no JSON that can be read, is counted and
 * left out. The first failure of a row is logged, with what to do about it when it is a matter
 * of RBAC, and then only when the reason changes; and that it works again.
 *
 * Source: https://kubernetes.io/docs/reference/using-api/api-concepts/
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_WATCH_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_WATCH_H

#include <jansson.h>

#include "cluster-agent/kubernetes/kube_client.h"
#include "common/base.h"
#include "common/system/clock.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"

#define KUBE_WATCH_PAGE 500
#define KUBE_WATCH_IDLE_NS (90 * NS_PER_S)
/*
 * Of one object as JSON; etcd refuses more than 1.5 MiB. Larger ones are counted and left out.
 */
#define KUBE_WATCH_OBJECT_BYTES ((size_t)4 * 1024 * 1024)

struct kube_watch;

struct kube_watch_config {
	struct kube_client *client; /* borrowed */
	struct loop *loop;
	const char *path; /* "/api/v1/pods", "/api/v1/namespaces/x/pods" */
	const char *
		selectors; /* further query, encoded: "fieldSelector=status.phase%3DRunning"; NULL */
	const char *what;  /* for sentences and labels: "pods" */
	uint64_t idle_ns;  /* 0: KUBE_WATCH_IDLE_NS */
	uint64_t retry_min_ns; /* 0: 500 ms */
	uint64_t retry_max_ns; /* 0: 60 s */

	void *ctx;
	/* A new list begins: what object() does not name from here until listed() is gone. */
	void (*list_begins)(void *ctx);
	/*
	 * The object exists, or has changed. Returns 0, or a negative errno (-ENOMEM) if the
	 * owner could not take it in: the request then counts as failed, and the retry brings
	 * the object again.
	 */
	int (*object)(void *ctx, const json_t *object);
	void (*gone)(void *ctx, const json_t *object); /* its last state before it was deleted */
	void (*listed)(void *ctx);
};

/* Starts at the next turn of the loop. -ENOMEM. */
int kube_watch_new(struct kube_watch **ret, const struct kube_watch_config *cfg) MUST_CHECK;
void kube_watch_free(struct kube_watch *w);
DEFINE_CLEANUP(struct kube_watch *, kube_watch_free);

/*
 * Whether a list was whole at least once, and no failure is being retried for over two minutes.
 */
bool kube_watch_synced(const struct kube_watch *w);
/*
 * One line about what is wrong now, "" when nothing is; borrowed until the next turn of the
 * loop.
 */
const char *kube_watch_problem(const struct kube_watch *w);

/* coroot_cluster_agent_kubernetes_…_total. Call before other threads start. */
int kube_watch_register(struct kube_watch *w, struct metrics *ms) MUST_CHECK;

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_WATCH_H */
