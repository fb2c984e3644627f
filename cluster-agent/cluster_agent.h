/*
 * The agent as a whole: makes every stage, connects them, and takes them apart
 * in the order in which nothing that was accepted is lost.
 */
#ifndef CLUSTER_AGENT_CLUSTER_AGENT_H
#define CLUSTER_AGENT_CLUSTER_AGENT_H

#include "common/base.h"
#include "common/err.h"

struct cluster_agent;
struct cluster_options;

/*
 * Opens the store, then listens. opts is borrowed until cluster_agent_free().
 * Call it before any other thread exists: signals are blocked here.
 * Negative errno with one line in err.
 */
int cluster_agent_new(struct cluster_agent **ret, const struct cluster_options *opts,
		      struct err *err) MUST_CHECK;
/*
 * Stops accepting, ends queries, stores what was accepted (uploads that wait
 * longer than 8 s for a worker are refused), closes the store.
 */
void cluster_agent_free(struct cluster_agent *a);
DEFINE_CLEANUP(struct cluster_agent *, cluster_agent_free);

/* Until SIGTERM or SIGINT. */
int cluster_agent_run(struct cluster_agent *a) MUST_CHECK;

#endif /* CLUSTER_AGENT_CLUSTER_AGENT_H */
