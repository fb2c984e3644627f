/*
 * The JSON API of the page, and /readyz.
 *
 * Requests are untrusted. The handler runs on the HTTP server's threads and only queues the
 * request; threads of query_jobs.h ask the store and answer. If the queue is full the answer is
 * 503. Errors are {"error":"one line"}.
 */
#ifndef CLUSTER_AGENT_WEB_WEB_API_H
#define CLUSTER_AGENT_WEB_WEB_API_H

#include "cluster-agent/web/query_jobs.h"
#include "common/base.h"
#include "common/http/http_server.h"

/* Serves /api/… and /readyz: what web_endpoints.h has of the method. */
void web_api_serve(struct query_jobs *jobs, struct http_exchange *x);

/* An http_handler_fn for GET / and /assets/…: the files of web_assets.h, at once. ctx is unused. */
void web_page_serve(void *ctx, struct http_exchange *x);

#endif /* CLUSTER_AGENT_WEB_WEB_API_H */
