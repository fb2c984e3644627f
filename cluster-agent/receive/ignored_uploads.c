#include "cluster-agent/receive/ignored_uploads.h"

#define IGNORED(kind)                                                          \
	"coroot_cluster_agent_ignored_uploads_total", "kind=\"" kind "\"",     \
		"Uploads that are not profiles, which were answered with 204 " \
		"and not kept, by kind"

static const struct metric_def metric_defs[IGNORED_MAX] = {
	[IGNORED_METRICS] = {IGNORED("metrics")},
	[IGNORED_LOGS] = {IGNORED("logs")},
	[IGNORED_TRACES] = {IGNORED("traces")},
};
METRIC_TABLE(metric_table, metric_defs);

static void serve(struct ignored_uploads *u, struct http_exchange *x, enum ignored_kind kind)
{
	metric_add(&u->metrics[kind], 1);
	http_respond(x, 204, NULL, NULL, 0);
}

void ignored_uploads_serve_metrics(void *ctx, struct http_exchange *x)
{
	serve(ctx, x, IGNORED_METRICS);
}

void ignored_uploads_serve_logs(void *ctx, struct http_exchange *x)
{
	serve(ctx, x, IGNORED_LOGS);
}

void ignored_uploads_serve_traces(void *ctx, struct http_exchange *x)
{
	serve(ctx, x, IGNORED_TRACES);
}

int ignored_uploads_register(struct ignored_uploads *u, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, u->metrics, NULL);
}
