/*
 * Where the newest part of a timeline is not complete yet.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_TIMELINE_TAIL_H
#define CLUSTER_AGENT_QUERY_READ_TIMELINE_TAIL_H

#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/err.h"

struct store;

/*
 * Sets *ret_ns to the time up to which every node agent has sent its profiles of the filter, or
 * every instance that is scraped or pushes; 0 if none is expected any more, because the range has
 * ended minutes ago, say. Errors are those of stack_query().
 */
int timeline_query_complete(struct store *store, const struct query_filter *f, int64_t *ret_ns,
			    struct err *err) MUST_CHECK;

/* The same of the CPU time of all services, or of the service of the filter; no type is needed. */
int timeline_query_complete_all(struct store *store, const struct query_filter *f, int64_t *ret_ns,
				struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_TIMELINE_TAIL_H */
