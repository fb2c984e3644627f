/*
 * What sampling costs, per container: /metrics has the samples of each and the CPU time that the
 * BPF program spent on them. Bounded; containers that are not sampled for a while are dropped.
 */
#ifndef NODE_AGENT_CONTAINER_COST_H
#define NODE_AGENT_CONTAINER_COST_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/workload/workload.h"

struct container_cost;

/* ms is borrowed, and freed first. As metrics_register(). */
int container_cost_new(struct container_cost **ret, struct metrics *ms) MUST_CHECK;
void container_cost_free(struct container_cost *c);
DEFINE_CLEANUP(struct container_cost *, container_cost_free);

/* w has its final name. What cannot be added is dropped; too many containers are counted. */
void container_cost_add(struct container_cost *c, const struct workload *w, uint64_t n_samples,
			uint64_t cost_ns);

/* Call it every few seconds, with the time of clock_monotonic_ns(). */
void container_cost_expire(struct container_cost *c, uint64_t now_ns);

#endif /* NODE_AGENT_CONTAINER_COST_H */
