/*
 * Movers where nobody has chosen what to compare with.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_MOVER_BASES_H
#define CLUSTER_AGENT_QUERY_READ_MOVER_BASES_H

#include "cluster-agent/query/read/mover_query.h"

/*
 * As mover_query(), with the same range a day before as the base. Services without profiles of then
 * are compared with a range of equal length that begins with their first profile of the day, which
 * their functions say, or with the one right before if that is not later. If no service has any
 * profiles of a day before, that is the base of the list.
 */
int mover_query_since(struct store *store, const struct query_filter *range, uint32_t limit,
		      struct mover_list *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_MOVER_BASES_H */
