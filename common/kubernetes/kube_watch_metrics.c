#include "common/kubernetes/kube_watch_metrics.h"

#include <errno.h>

#define FAILED(reason) \
	"_request_failures_total", "reason=\"" reason "\"", "Lists and watches that failed"
#define LEFT_OUT(reason) \
	"_objects_left_out_total", "reason=\"" reason "\"", "Objects that were ignored"

static const struct metric_def metric_defs[KUBE_WATCH_METRIC_MAX] = {
	[KUBE_WATCH_METRIC_LISTS] = {"_lists_total", NULL, "Complete lists received"},
	[KUBE_WATCH_METRIC_WATCHES] = {"_watches_total", NULL, "Watches requested"},
	[KUBE_WATCH_METRIC_EVENTS] = {"_watch_events_total", NULL,
				      "Events of watches, bookmarks included"},
	[KUBE_WATCH_METRIC_GONE] = {"_expirations_total", NULL,
				    "Lists repeated because the server no longer had our version"},
	[KUBE_WATCH_METRIC_FAILED_CONNECTION] = {FAILED("connection")},
	[KUBE_WATCH_METRIC_FAILED_REFUSED] = {FAILED("refused")},
	[KUBE_WATCH_METRIC_FAILED_SERVER] = {FAILED("server")},
	[KUBE_WATCH_METRIC_FAILED_ANSWER] = {FAILED("answer")},
	[KUBE_WATCH_METRIC_LEFT_OUT_TOO_LARGE] = {LEFT_OUT("too_large")},
	[KUBE_WATCH_METRIC_LEFT_OUT_UNREADABLE] = {LEFT_OUT("unreadable")},
	[KUBE_WATCH_METRIC_FAILING] = {"_watch_failing", NULL,
				       "1 while lists and watches of the API server fail",
				       METRIC_GAUGE},
};
METRIC_TABLE(metric_table, metric_defs);

int kube_watch_metrics_register(struct kube_watch_metrics *m, const char *prefix, const char *what,
				struct metrics *ms)
{
	if (asprintf(&m->prefix, "%s_kubernetes_%s", prefix, what) < 0) {
		m->prefix = NULL;
		return -ENOMEM;
	}
	return metrics_register_as(ms, m->prefix, &metric_table, m->metrics, NULL);
}

void kube_watch_metrics_fini(struct kube_watch_metrics *m)
{
	free(m->prefix);
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
