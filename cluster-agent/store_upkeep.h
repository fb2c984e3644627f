/* What looks after the tables of the store while the agent runs: space_guard.h, function_sums.h. */
#ifndef CLUSTER_AGENT_STORE_UPKEEP_H
#define CLUSTER_AGENT_STORE_UPKEEP_H

#include "cluster-agent/cluster_options.h"
#include "common/base.h"

struct function_sums;
struct metrics;
struct space_guard;
struct store;

struct store_upkeep {
	struct space_guard *space;  /* NULL with --max-disk-usage=0 */
	struct function_sums *sums; /* NULL with --functions-ttl=0 */
};

/* u is zeroed; store must outlive it, and it must outlive ms. Returns 0, -ENOMEM or -EAGAIN. */
int store_upkeep_start(struct store_upkeep *u, struct store *store, const struct cluster_options *o,
		       struct metrics *ms) MUST_CHECK;
/* Waits for a statement that is under way, and frees. May be repeated. */
void store_upkeep_stop(struct store_upkeep *u);

#endif /* CLUSTER_AGENT_STORE_UPKEEP_H */
