/* The metrics of a kube_watch. Names begin with <prefix>_kubernetes_<what>. */
#ifndef COMMON_KUBERNETES_KUBE_WATCH_METRICS_H
#define COMMON_KUBERNETES_KUBE_WATCH_METRICS_H

#include "common/base.h"
#include "common/kubernetes/kube_watch_state.h"
#include "common/telemetry/metrics.h"

enum kube_watch_metric {
	KUBE_WATCH_METRIC_LISTS,
	KUBE_WATCH_METRIC_WATCHES,
	KUBE_WATCH_METRIC_EVENTS,
	KUBE_WATCH_METRIC_GONE,
	KUBE_WATCH_METRIC_FAILED_CONNECTION,
	KUBE_WATCH_METRIC_FAILED_REFUSED,
	KUBE_WATCH_METRIC_FAILED_SERVER,
	KUBE_WATCH_METRIC_FAILED_ANSWER,
	KUBE_WATCH_METRIC_LEFT_OUT_TOO_LARGE,
	KUBE_WATCH_METRIC_LEFT_OUT_UNREADABLE,
	KUBE_WATCH_METRIC_FAILING,
	KUBE_WATCH_METRIC_MAX,
};

/* Starts zeroed; counts even before it is registered. */
struct kube_watch_metrics {
	struct metric metrics[KUBE_WATCH_METRIC_MAX];
	char *prefix; /* of the names; NULL until they are registered */
};

/* prefix and what consist of [a-z_]. Returns 0, -ENOMEM, or what metrics_register() does. */
int kube_watch_metrics_register(struct kube_watch_metrics *m, const char *prefix, const char *what,
				struct metrics *ms) MUST_CHECK;
void kube_watch_metrics_fini(struct kube_watch_metrics *m);

void kube_watch_metrics_add(struct kube_watch_metrics *m, enum kube_watch_metric which);
/* Counts a failed request under its reason. */
void kube_watch_metrics_add_failure(struct kube_watch_metrics *m, const struct kube_outcome *o);

#endif /* COMMON_KUBERNETES_KUBE_WATCH_METRICS_H */
