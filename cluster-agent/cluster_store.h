/* The store that the options ask for: the embedded engine, or ClickHouse servers. */
#ifndef CLUSTER_AGENT_CLUSTER_STORE_H
#define CLUSTER_AGENT_CLUSTER_STORE_H

#include "cluster-agent/cluster_options.h"
#include "common/base.h"
#include "common/err.h"

struct store;

/* Contradictions between the options of the store: -EINVAL with one line in err. */
int cluster_store_check(const struct cluster_options *o, struct err *err) MUST_CHECK;

/*
 * Opens it; the embedded engine blocks for seconds, servers need not be there yet. Released with
 * store_close(). Errors are those of store_chdb_open() and store_clickhouse_open().
 */
int cluster_store_open(struct store **ret, const struct cluster_options *o,
		       struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_CLUSTER_STORE_H */
