/*
 * Where profiles begin and end: borders of the ranges of a comparison.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_PROFILE_EDGES_H
#define CLUSTER_AGENT_QUERY_READ_PROFILE_EDGES_H

#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/err.h"

struct store;

/*
 * Moves from_ns and to_ns of f, which lie in profiles, to the nearer ends of these. A range that
 * would be empty then stays as it is, and so does one of a level, or of more than six hours. Errors
 * are those of stack_query().
 */
int profile_edges_snap(struct store *store, struct query_filter *f, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_PROFILE_EDGES_H */
