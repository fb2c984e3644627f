/*
 * What the node agent tells about itself: /metrics and /healthz.
 *
 * Counters that belong to a stage are copied here from time to time by the loop thread, so that the
 * server's thread never looks into a stage.
 */
#ifndef NODE_AGENT_NODE_STATUS_H
#define NODE_AGENT_NODE_STATUS_H

#include "common/base.h"
#include "common/err.h"
#include "common/telemetry/metrics.h"

struct node_status;
struct cycle_losses;
struct process_table_stats;
struct sampler_stats;

/* ms is borrowed; everything in it must have been registered before node_status_listen(). */
int node_status_new(struct node_status **ret, struct metrics *ms) MUST_CHECK;
void node_status_free(struct node_status *s);
DEFINE_CLEANUP(struct node_status *, node_status_free);

/* As http_server_new(). */
int node_status_listen(struct node_status *s, const char *listen, struct err *err) MUST_CHECK;

/* The loop is alive: /healthz answers 503 when this was not called for a while. */
void node_status_beat(struct node_status *s);

void node_status_update(struct node_status *s, const struct sampler_stats *sampler,
			const struct process_table_stats *processes);

/* The losses of a cycle that was handed on. */
void node_status_add_losses(struct node_status *s, const struct cycle_losses *losses);

#endif /* NODE_AGENT_NODE_STATUS_H */
