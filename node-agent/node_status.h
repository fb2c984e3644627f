/*
 * Metrics of the node agent's sampling and process table.
 *
 * The loop thread copies the counters of the stages here every second, so that the thread of the
 * HTTP server never reads a stage's own data.
 */
#ifndef NODE_AGENT_NODE_STATUS_H
#define NODE_AGENT_NODE_STATUS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"

struct node_status;
struct cycle_losses;
struct exclusions_stats;
struct process_table_stats;
struct sampler_stats;

/* ms is borrowed. As metrics_register(). */
int node_status_new(struct node_status **ret, struct metrics *ms) MUST_CHECK;
void node_status_free(struct node_status *s);
DEFINE_CLEANUP(struct node_status *, node_status_free);

void node_status_update(struct node_status *s, const struct sampler_stats *sampler,
			const struct process_table_stats *processes,
			const struct exclusions_stats *exclusions);

/* Adds the losses of a finished cycle. */
void node_status_add_losses(struct node_status *s, const struct cycle_losses *losses);

#endif /* NODE_AGENT_NODE_STATUS_H */
