/*
 * The query API of Pyroscope, which Grafana's built-in Pyroscope data source uses
 * (docs/grafana.md): unary calls of the Connect protocol over HTTP/1.1, and older GET endpoints.
 *
 * Requests are untrusted. As those of the JSON API they are jobs of query_jobs.h.
 */
#ifndef CLUSTER_AGENT_PYROSCOPE_PYROSCOPE_API_H
#define CLUSTER_AGENT_PYROSCOPE_PYROSCOPE_API_H

#include "common/base.h"
#include "common/http/http_server.h"

struct query_jobs;

/* Serves POST /querier.v1.QuerierService/… and the like, and GET /pyroscope/…. */
void pyroscope_api_serve(struct query_jobs *jobs, struct http_exchange *x);

#define PYROSCOPE_API_MAX_BODY_BYTES ((size_t)1 << 20)

#endif /* CLUSTER_AGENT_PYROSCOPE_PYROSCOPE_API_H */
