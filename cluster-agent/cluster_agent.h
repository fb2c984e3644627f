/*
 * Wiring: makes every stage of the cluster agent, connects them, and takes them apart in the order
 * in which no accepted upload is lost.
 */
#ifndef CLUSTER_AGENT_CLUSTER_AGENT_H
#define CLUSTER_AGENT_CLUSTER_AGENT_H

#include "common/base.h"
#include "common/err.h"

struct cluster_agent;
struct cluster_options;

/*
 * Opens the store, then listens. opts is borrowed until cluster_agent_free(). Call it before any
 * other thread starts: signals are blocked here. Returns 0, or -errno with one line in err.
 */
int cluster_agent_new(struct cluster_agent **ret, const struct cluster_options *opts,
		      struct err *err) MUST_CHECK;
/*
 * Stops accepting requests, ends queries, stores the uploads that were accepted (those that no
 * worker takes before the time to exit are refused), and closes the store.
 */
void cluster_agent_free(struct cluster_agent *a);
DEFINE_CLEANUP(struct cluster_agent *, cluster_agent_free);

/* Runs until SIGTERM or SIGINT. Returns 0 or -errno. */
int cluster_agent_run(struct cluster_agent *a) MUST_CHECK;

#endif /* CLUSTER_AGENT_CLUSTER_AGENT_H */
