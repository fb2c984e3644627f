/*
 * What profilers other than Coroot's send (docs/push.md):
 *
 *	POST /ingest                        Pyroscope's SDKs and agents, py-spy, rbspy
 *	POST /push.v1.PusherService/Push    newer SDKs, Grafana Alloy: Connect, one request per call
 *
 * Answers as upload_answer.h says; those of Connect have its error codes as JSON. An upload whose
 * request does not say when it was taken is stored each time it is sent; others are stored once, as
 * are those with the header "Idempotency-Key". The server has checked the key. Any thread.
 */
#ifndef CLUSTER_AGENT_RECEIVE_PUSH_HANDLER_H
#define CLUSTER_AGENT_RECEIVE_PUSH_HANDLER_H

#include "cluster-agent/receive/upload_answer.h"
#include "common/base.h"
#include "common/http/http_server.h"

struct push_handler {
	struct ingest *ingest;            /* borrowed; outlives the server */
	struct upload_counters *counters; /* likewise */
	_Atomic uint64_t n_uploads;       /* that had no time */
};

/* Handlers; ctx is the struct. */
void push_handler_serve_ingest(void *ctx, struct http_exchange *x);
void push_handler_serve_push(void *ctx, struct http_exchange *x);

#endif /* CLUSTER_AGENT_RECEIVE_PUSH_HANDLER_H */
