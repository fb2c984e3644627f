/*
 * /healthz and /metrics of either agent. An agent is healthy while its loop turns; problems that a
 * restart would not repair do not count.
 */
#ifndef COMMON_AGENT_AGENT_STATUS_H
#define COMMON_AGENT_AGENT_STATUS_H

#include <stdatomic.h>

#include "common/base.h"

struct http_exchange;
struct metrics;

struct agent_status {
	struct metrics *metrics;       /* borrowed */
	_Atomic uint64_t last_beat_ns; /* monotonic */
};

void agent_status_init(struct agent_status *s, struct metrics *metrics);

/* From the loop, at least every few seconds. */
void agent_status_beat(struct agent_status *s);

/* http_handler_fn; ctx is the status. */
void agent_status_healthz(void *ctx, struct http_exchange *x);
void agent_status_metrics(void *ctx, struct http_exchange *x);

#endif /* COMMON_AGENT_AGENT_STATUS_H */
