/*
 * /healthz and /metrics. Health is that the loop turns: it never depends on
 * the store, since a restart would not repair that.
 */
#ifndef CLUSTER_AGENT_CLUSTER_STATUS_H
#define CLUSTER_AGENT_CLUSTER_STATUS_H

#include <stdatomic.h>

#include "common/base.h"

struct http_exchange;
struct metrics;

struct cluster_status {
	struct metrics *metrics;       /* borrowed */
	_Atomic uint64_t last_beat_ns; /* monotonic */
};

void cluster_status_init(struct cluster_status *s, struct metrics *metrics);

/* From the loop, at least every few seconds. */
void cluster_status_beat(struct cluster_status *s);

/* http_handler_fn; ctx is the status. */
void cluster_status_healthz(void *ctx, struct http_exchange *x);
void cluster_status_metrics(void *ctx, struct http_exchange *x);

#endif /* CLUSTER_AGENT_CLUSTER_STATUS_H */
