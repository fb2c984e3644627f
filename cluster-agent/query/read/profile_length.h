/*
 * How finely profiles show time: one that lasts a minute says nothing about the seconds in it.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_PROFILE_LENGTH_H
#define CLUSTER_AGENT_QUERY_READ_PROFILE_LENGTH_H

#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/err.h"

struct store;

/*
 * Sets *ret_ns to the time that a profile of the filter stands for: its length or, where profiles
 * leave gaps, the time from one to the next. It is the median over instances of what is usual for
 * each, and 0 if there are no profiles. Reads all profiles of the range. Errors are those of
 * stack_query().
 */
int profile_length_query(struct store *store, const struct query_filter *f, double *ret_ns,
			 struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_PROFILE_LENGTH_H */
