/*
 * POST /v1development/profiles: OTLP over HTTP, in protobuf or JSON, plain or compressed with gzip
 * or zstd.
 *
 * The answer has the format of the request: 200 with ExportProfilesServiceResponse, which says how
 * many profiles cannot be stored, once all others are durable; otherwise google.rpc.Status with
 * 400, 413, 415, or 503 with Retry-After (upload_answer.h). Handlers run on the HTTP server's
 * threads.
 */
#ifndef CLUSTER_AGENT_OTLP_OTLP_HANDLER_H
#define CLUSTER_AGENT_OTLP_OTLP_HANDLER_H

#include "cluster-agent/otlp/otlp_parts.h"
#include "cluster-agent/receive/upload_answer.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/http/http_server.h"

struct ingest;
struct otlp_handler;

struct otlp_handler_config {
	struct ingest *ingest;            /* borrowed; outlives the handler */
	struct upload_counters *counters; /* borrowed; likewise */
	uint64_t profiles_ttl_ns;         /* older profiles are rejected */
};

int otlp_handler_new(struct otlp_handler **ret, const struct otlp_handler_config *cfg) MUST_CHECK;
/* Every request must have been answered. */
void otlp_handler_free(struct otlp_handler *h);
DEFINE_CLEANUP(struct otlp_handler *, otlp_handler_free);

/* An http_handler_fn; ctx is the handler. */
void otlp_handler_serve(void *ctx, struct http_exchange *x);

/* The body of a successful answer; appended to out. Returns 0 or -ENOMEM. */
int otlp_answer_write(const struct otlp_parts_report *report, bool is_json,
		      struct buf *out) MUST_CHECK;

#endif /* CLUSTER_AGENT_OTLP_OTLP_HANDLER_H */
