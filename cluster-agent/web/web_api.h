/*
 * The JSON API of the page, and /readyz.
 *
 * Requests are untrusted. Handlers run on the HTTP server's threads and only queue the request;
 * worker threads ask the store and answer. If the queue is full the answer is 503. Errors are
 * {"error":"one line"}.
 */
#ifndef CLUSTER_AGENT_WEB_WEB_API_H
#define CLUSTER_AGENT_WEB_WEB_API_H

#include "common/base.h"
#include "common/http/http_server.h"

struct metrics;
struct store;
struct web_api;

struct web_api_config {
	struct store *store; /* borrowed; outlives the API */
	unsigned n_threads;  /* 0: 3 */
	unsigned max_queued; /* requests that wait for a thread; 0: 64 */
};

int web_api_new(struct web_api **ret, const struct web_api_config *cfg) MUST_CHECK;
/*
 * Waits for the queries under way (store_stop_queries() ends them), answers waiting requests
 * with 503, and joins the threads.
 */
void web_api_stop(struct web_api *api);
/* Stops if that was not done. */
void web_api_free(struct web_api *api);
DEFINE_CLEANUP(struct web_api *, web_api_free);

/* Metrics coroot_cluster_agent_api_*; the API must outlive ms. */
int web_api_register(struct web_api *api, struct metrics *ms) MUST_CHECK;

/* An http_handler_fn for GET /api/… and /readyz; ctx is the API. */
void web_api_serve(void *ctx, struct http_exchange *x);

#endif /* CLUSTER_AGENT_WEB_WEB_API_H */
