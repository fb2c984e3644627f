/*
 * Wiring: owns every stage of the node agent and the loop they run on.
 *
 * Samples are drained into the current cycle; when the interval ends the cycle goes to the worker
 * thread, comes back as one pprof per workload and goes to the uploader. A stage that is too
 * slow loses whole cycles, which are counted, and never stops the sampling.
 */
#ifndef NODE_AGENT_NODE_AGENT_H
#define NODE_AGENT_NODE_AGENT_H

#include "common/base.h"
#include "common/err.h"

struct node_agent;
struct node_options;

/* o is borrowed until node_agent_free(). -errno with a sentence in err. */
int node_agent_new(struct node_agent **ret, const struct node_options *o,
		   struct err *err) MUST_CHECK;
void node_agent_free(struct node_agent *a);
DEFINE_CLEANUP(struct node_agent *, node_agent_free);

/*
 * Until SIGTERM or SIGINT; then the last cycle is sent, for at most ten seconds. 0 or -errno.
 */
int node_agent_run(struct node_agent *a) MUST_CHECK;

#endif /* NODE_AGENT_NODE_AGENT_H */
