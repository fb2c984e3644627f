/*
 * At which lines the functions of a service start, as profiles say (column Starts of
 * profiling_quality). Of a function with several, as after a new release, the latest one in the
 * range counts.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_START_QUERY_H
#define CLUSTER_AGENT_QUERY_READ_START_QUERY_H

#include "cluster-agent/query/read/query_filter.h"
#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/err.h"

/* key: "<name> <file>", not NUL-terminated; valid during the call. Not 0 ends the walk. */
typedef int start_query_fn(void *ctx, const char *key, size_t key_len, uint64_t line);

/* Returns 0, what fn returned, or an error of bound_query_run(). */
int start_query(struct store *store, const struct query_filter *f, start_query_fn *fn, void *ctx,
		struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_START_QUERY_H */
