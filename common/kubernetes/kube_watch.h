/*
 * Watches all objects of one kind: lists them in pages, then watches for changes from there,
 * indefinitely. Loop thread only.
 *
 * A watch that ends is resumed from the last resource version, which bookmarks advance. 410
 * Gone (as a status or as an event) and any answer that cannot be parsed lead to a new list;
 * until that list is complete the owner keeps its objects. Failures are retried with back-off
 * and jitter, up to a minute. If the server sends nothing for KUBE_WATCH_IDLE_NS, not even a
 * bookmark, it is asked for a short watch; only if that does not end either, it counts as a
 * failure.
 *
 * Memory: one object at a time. An object that is too large or not valid JSON is counted and
 * skipped. The first failure is logged, with advice if RBAC is the cause, then only changes of
 * the reason, and the recovery.
 *
 * Source: https://kubernetes.io/docs/reference/using-api/api-concepts/
 */
#ifndef COMMON_KUBERNETES_KUBE_WATCH_H
#define COMMON_KUBERNETES_KUBE_WATCH_H

#include <jansson.h>

#include "common/base.h"
#include "common/kubernetes/kube_client.h"
#include "common/system/clock.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"

#define KUBE_WATCH_PAGE 500
#define KUBE_WATCH_IDLE_NS (90 * NS_PER_S)
/*
 * Limit of one object as JSON; etcd refuses more than 1.5 MiB. Larger ones are counted and
 * skipped.
 */
#define KUBE_WATCH_OBJECT_BYTES ((size_t)4 * 1024 * 1024)

struct kube_watch;

struct kube_watch_config {
	struct kube_client *client; /* borrowed */
	struct loop *loop;
	const char *path; /* "/api/v1/pods", "/api/v1/namespaces/x/pods" */
	/*
	 * further query parameters, encoded: "fieldSelector=status.phase%3DRunning"; may be
	 * NULL
	 */
	const char *selectors;
	const char *what;      /* "pods": for log lines and names of metrics */
	uint64_t idle_ns;      /* 0: KUBE_WATCH_IDLE_NS */
	uint64_t retry_min_ns; /* 0: 500 ms */
	uint64_t retry_max_ns; /* 0: 60 s */

	void *ctx;
	/*
	 * A new list begins: objects that object() does not name before listed() no longer
	 * exist.
	 */
	void (*list_begins)(void *ctx);
	/*
	 * The object exists, or has changed. Returns 0, or a negative errno (-ENOMEM) if the
	 * owner could not take it in: the request then counts as failed, and the retry brings
	 * the object again.
	 */
	int (*object)(void *ctx, const json_t *object);
	void (*deleted)(void *ctx, const json_t *object); /* its last state before it was deleted */
	void (*listed)(void *ctx);
};

/* Starts at the next turn of the loop. Returns 0 or -ENOMEM. */
int kube_watch_new(struct kube_watch **ret, const struct kube_watch_config *cfg) MUST_CHECK;
void kube_watch_free(struct kube_watch *w);
DEFINE_CLEANUP(struct kube_watch *, kube_watch_free);

/* Whether at least one list was complete, and no failure has lasted for over two minutes. */
bool kube_watch_synced(const struct kube_watch *w);
/* One line about the current failure, or ""; borrowed until the next turn of the loop. */
const char *kube_watch_problem(const struct kube_watch *w);

/* Registers <prefix>_kubernetes_…. Call before other threads start. */
int kube_watch_register(struct kube_watch *w, const char *prefix, struct metrics *ms) MUST_CHECK;

#endif /* COMMON_KUBERNETES_KUBE_WATCH_H */
