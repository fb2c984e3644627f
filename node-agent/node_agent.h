/*
 * Wiring: owns every stage of the node agent and connects them.
 *
 * Samples are drained into the current cycle. When the interval ends, the cycle goes to the worker
 * thread, returns as one pprof per workload, and goes to the uploader. If the worker is too slow,
 * whole cycles are dropped and counted; sampling never waits for it.
 */
#ifndef NODE_AGENT_NODE_AGENT_H
#define NODE_AGENT_NODE_AGENT_H

#include "common/base.h"
#include "common/err.h"

struct node_agent;
struct node_options;

/* o is borrowed until node_agent_free(). Returns 0, or -errno with a sentence in err. */
int node_agent_new(struct node_agent **ret, const struct node_options *o,
		   struct err *err) MUST_CHECK;
void node_agent_free(struct node_agent *a);
DEFINE_CLEANUP(struct node_agent *, node_agent_free);

/*
 * Runs until SIGTERM or SIGINT; then profiles the last cycle and waits for uploads, within ten
 * seconds. Returns 0 or -errno.
 */
int node_agent_run(struct node_agent *a) MUST_CHECK;

#endif /* NODE_AGENT_NODE_AGENT_H */
