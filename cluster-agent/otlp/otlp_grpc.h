/*
 * OTLP profiles over gRPC: opentelemetry.proto.collector.profiles.v1development.ProfilesService on
 * a port of its own (--otlp-grpc-listen). Keys, TLS, limits and counters are those of uploads over
 * HTTP; a key is sent as metadata "x-api-key" or "authorization".
 *
 * A request that cannot be stored is answered with INVALID_ARGUMENT, one over a limit with
 * RESOURCE_EXHAUSTED, one that may be repeated with UNAVAILABLE, and others with OK once they are
 * durable.
 */
#ifndef CLUSTER_AGENT_OTLP_OTLP_GRPC_H
#define CLUSTER_AGENT_OTLP_OTLP_GRPC_H

#include "cluster-agent/otlp/otlp_handler.h"
#include "common/base.h"
#include "common/err.h"

struct access;
struct metrics;
struct otlp_grpc;
struct server_tls;

struct otlp_grpc_config {
	struct otlp_handler_config handler;
	const char *listen;          /* copied */
	const struct access *access; /* borrowed; outlives the port; NULL: no keys */
	struct server_tls *tls;      /* borrowed; NULL: without TLS */
};

/* Errors as of grpc_server_new(). */
int otlp_grpc_new(struct otlp_grpc **ret, const struct otlp_grpc_config *cfg,
		  struct err *err) MUST_CHECK;
/* Waits until every request is answered. */
void otlp_grpc_free(struct otlp_grpc *g);
DEFINE_CLEANUP(struct otlp_grpc *, otlp_grpc_free);
/* Accepts no more connections. */
void otlp_grpc_quiesce(struct otlp_grpc *g);
/* Metrics grpc_server_*; g must outlive ms. */
int otlp_grpc_register(struct otlp_grpc *g, struct metrics *ms) MUST_CHECK;
unsigned otlp_grpc_port(const struct otlp_grpc *g);

#endif /* CLUSTER_AGENT_OTLP_OTLP_GRPC_H */
