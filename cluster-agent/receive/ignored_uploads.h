/*
 * Uploads that are not profiles: POST /v1/metrics (Prometheus remote write), /v1/logs and
 * /v1/traces (OTLP), which a Coroot node agent sends to the same address.
 *
 * They are not kept. The answer is 204 all the same: a Coroot agent that is refused keeps them on
 * its disk, up to 500 MB, and repeats them without end.
 */
#ifndef CLUSTER_AGENT_RECEIVE_IGNORED_UPLOADS_H
#define CLUSTER_AGENT_RECEIVE_IGNORED_UPLOADS_H

#include "common/base.h"
#include "common/http/http_server.h"
#include "common/telemetry/metrics.h"

enum ignored_kind {
	IGNORED_METRICS,
	IGNORED_LOGS,
	IGNORED_TRACES,
	IGNORED_MAX,
};

struct ignored_uploads {
	struct metric metrics[IGNORED_MAX];
};

/* coroot_cluster_agent_ignored_uploads_total, by kind; u must outlive ms. */
int ignored_uploads_register(struct ignored_uploads *u, struct metrics *ms) MUST_CHECK;

/* Handlers of POST; ctx is the struct. The routes should discard bodies. */
void ignored_uploads_serve_metrics(void *ctx, struct http_exchange *x);
void ignored_uploads_serve_logs(void *ctx, struct http_exchange *x);
void ignored_uploads_serve_traces(void *ctx, struct http_exchange *x);

#endif /* CLUSTER_AGENT_RECEIVE_IGNORED_UPLOADS_H */
