/*
 * Movers of one function: of two releases, of builds whose names came later, and of native code
 * whose source is known in one range and not in the other. Pure.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_MOVER_JOIN_H
#define CLUSTER_AGENT_QUERY_READ_MOVER_JOIN_H

#include "cluster-agent/query/read/mover_query.h"
#include "common/base.h"

/*
 * Makes one item of those of a service that are one function, as frame_functions.h has it for flame
 * graphs. Sorts the list by service and name. -ENOMEM is the only failure.
 */
int mover_list_join(struct mover_list *l) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_MOVER_JOIN_H */
