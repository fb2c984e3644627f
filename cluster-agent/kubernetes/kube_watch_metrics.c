#include "cluster-agent/kubernetes/kube_watch_metrics.h"

#include <errno.h>

static const struct {
	const char *suffix;
	const char *labels;
	const char *help;
	enum metric_kind kind;
} defs[KUBE_WATCH_METRIC_MAX] = {
	[KUBE_WATCH_METRIC_LISTS] = {"lists_total", NULL, "Lists that were whole", METRIC_COUNTER},
	[KUBE_WATCH_METRIC_WATCHES] = {"watches_total", NULL, "Watches asked for", METRIC_COUNTER},
	[KUBE_WATCH_METRIC_EVENTS] = {"watch_events_total", NULL,
				      "Events of watches, bookmarks included", METRIC_COUNTER},
	[KUBE_WATCH_METRIC_GONE] = {"expirations_total", NULL,
				    "Lists made anew because the server no longer knew our version",
				    METRIC_COUNTER},
	[KUBE_WATCH_METRIC_FAILED_CONNECTION] = {"request_failures_total", "reason=\"connection\"",
						 "Lists and watches that failed", METRIC_COUNTER},
	[KUBE_WATCH_METRIC_FAILED_REFUSED] = {"request_failures_total", "reason=\"refused\"", "",
					      METRIC_COUNTER},
	[KUBE_WATCH_METRIC_FAILED_SERVER] = {"request_failures_total", "reason=\"server\"", "",
					     METRIC_COUNTER},
	[KUBE_WATCH_METRIC_FAILED_ANSWER] = {"request_failures_total", "reason=\"answer\"", "",
					     METRIC_COUNTER},
	[KUBE_WATCH_METRIC_LEFT_OUT_TOO_LARGE] = {"objects_left_out_total", "reason=\"too_large\"",
						  "Objects that were not looked at",
						  METRIC_COUNTER},
	[KUBE_WATCH_METRIC_LEFT_OUT_UNREADABLE] = {"objects_left_out_total",
						   "reason=\"unreadable\"", "", METRIC_COUNTER},
	[KUBE_WATCH_METRIC_FAILING] = {"watch_failing", NULL,
				       "1 while the API server does not answer as it should",
				       METRIC_GAUGE},
};

int kube_watch_metrics_register(struct kube_watch_metrics *m, const char *what, struct metrics *ms)
{
	for (size_t i = 0; i < KUBE_WATCH_METRIC_MAX; i++) {
		if (asprintf(&m->names[i], "coroot_cluster_agent_kubernetes_%s_%s", what,
			     defs[i].suffix) < 0) {
			m->names[i] = NULL;
			return -ENOMEM;
		}
		m->metrics[i].name = m->names[i];
		m->metrics[i].labels = defs[i].labels;
		m->metrics[i].help = defs[i].help;
		m->metrics[i].kind = defs[i].kind;
	}
	return metrics_register(ms, m->metrics, KUBE_WATCH_METRIC_MAX);
}

void kube_watch_metrics_fini(struct kube_watch_metrics *m)
{
	for (size_t i = 0; i < KUBE_WATCH_METRIC_MAX; i++)
		free(m->names[i]);
}

void kube_watch_metrics_add(struct kube_watch_metrics *m, enum kube_watch_metric which)
{
	metric_add(&m->metrics[which], 1);
}

void kube_watch_metrics_add_failure(struct kube_watch_metrics *m, const struct kube_outcome *o)
{
	enum kube_watch_metric which = KUBE_WATCH_METRIC_FAILED_ANSWER;

	if (o->event_code != 0 || o->status >= 500 || o->status == 429)
		which = KUBE_WATCH_METRIC_FAILED_SERVER;
	else if (o->status >= 300)
		which = KUBE_WATCH_METRIC_FAILED_REFUSED;
	else if (o->error != -EBADMSG)
		which = KUBE_WATCH_METRIC_FAILED_CONNECTION;
	kube_watch_metrics_add(m, which);
}
