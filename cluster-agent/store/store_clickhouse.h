/*
 * A ClickHouse server or cluster as the engine of store.h, over HTTP(S).
 *
 * The servers may be down when the store is opened, and at any time later: inserts and queries then
 * return -EAGAIN. A thread of the store creates the database and the tables as soon as a server
 * answers, and again if they have disappeared.
 *
 * Exactly once: an insert is one block on the server, and its token makes a repetition do nothing,
 * on any replica of a replicated table, and on the same server otherwise. See docs/clickhouse.md
 * for what the tables need for that.
 */
#ifndef CLUSTER_AGENT_STORE_STORE_CLICKHOUSE_H
#define CLUSTER_AGENT_STORE_STORE_CLICKHOUSE_H

#include "cluster-agent/store/clickhouse_client.h"
#include "cluster-agent/store/schema.h"
#include "cluster-agent/store/store.h"

/* Texts are copied. */
struct store_clickhouse_config {
	struct clickhouse_client_config client;
	const char *database;        /* created if it does not exist */
	const char *cluster;         /* NULL: found; "none"; see schema_find_cluster() */
	struct schema_config schema; /* ttl_ns is at least 1 s */
};

/* Does not wait for a server. Returns 0, or what clickhouse_client_new() does, or -EAGAIN. */
int store_clickhouse_open(struct store **ret, const struct store_clickhouse_config *cfg,
			  struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_STORE_CLICKHOUSE_H */
