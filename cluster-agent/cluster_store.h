/* The store that the options ask for: the embedded engine, or ClickHouse servers. */
#ifndef CLUSTER_AGENT_CLUSTER_STORE_H
#define CLUSTER_AGENT_CLUSTER_STORE_H

#include "cluster-agent/cluster_options.h"
#include "common/base.h"
#include "common/err.h"
#include "common/system/clock.h"

struct store;

/*
 * How long a start waits for another process that uses --data-dir: a rolling update begins the new
 * pod before it ends the old one, which takes up to ten seconds.
 */
#define CLUSTER_STORE_LOCK_WAIT_NS (30 * NS_PER_S)

/* Contradictions between the options of the store: -EINVAL with one line in err. */
int cluster_store_check(const struct cluster_options *o, struct err *err) MUST_CHECK;

/*
 * Opens it; the embedded engine blocks for seconds, servers need not be there yet. Released with
 * store_close(). Errors are those of store_chdb_open() and store_clickhouse_open().
 */
int cluster_store_open(struct store **ret, const struct cluster_options *o,
		       struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_CLUSTER_STORE_H */
