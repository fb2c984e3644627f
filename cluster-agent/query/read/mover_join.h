/*
 * Native functions whose source is known in one range and not in the other. Pure.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_MOVER_JOIN_H
#define CLUSTER_AGENT_QUERY_READ_MOVER_JOIN_H

#include "cluster-agent/query/read/mover_query.h"

/*
 * Makes one item of two that are one native function with and without its source file, by the rule
 * of frame_functions.h among the items of a service. Sorts the list by service and name.
 */
void mover_list_join(struct mover_list *l);

#endif /* CLUSTER_AGENT_QUERY_READ_MOVER_JOIN_H */
