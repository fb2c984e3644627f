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
#include "common/system/clock.h"

struct store;

/* Of longer ranges, a profile is next to nothing. */
#define PROFILE_EDGES_LONGEST_NS (INT64_C(6) * 3600 * (int64_t)NS_PER_S)

/*
 * Moves from_ns and to_ns of f, which lie in profiles, to the nearer ends of these, and to_ns to
 * where profiles of all nodes and instances are there if some have yet to be sent. Of a level only
 * the latter. A range that would be empty then stays as it is, and so does one of more than
 * PROFILE_EDGES_LONGEST_NS. Errors are those of stack_query().
 */
int profile_edges_snap(struct store *store, struct query_filter *f, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_PROFILE_EDGES_H */
