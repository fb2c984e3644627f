/*
 * Configuration files of ClickHouse and of its keeper, for clusters that the operator makes. Pure.
 * Passwords and what differs between pods come from their environment, so that all pods have the
 * same file, and it holds no secret.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_CLICKHOUSE_CONFIG_XML_H
#define CLUSTER_AGENT_OPERATOR_RENDER_CLICKHOUSE_CONFIG_XML_H

#include "cluster-agent/operator/spec/coroot_spec.h"
#include "common/base.h"
#include "common/data/buf.h"

/* Variables of the pods that the files refer to. */
#define CLICKHOUSE_ENV_SHARD "CLICKHOUSE_SHARD_ID"
#define CLICKHOUSE_ENV_REPLICA "CLICKHOUSE_REPLICA_ID"
#define CLICKHOUSE_ENV_PASSWORD "CLICKHOUSE_PASSWORD"
#define CLICKHOUSE_ENV_KEEPER "CLICKHOUSE_KEEPER_ID"

#define CLICKHOUSE_HTTP_PORT 8123
#define CLICKHOUSE_TCP_PORT 9000
#define CLICKHOUSE_INTERSERVER_PORT 9009
#define KEEPER_CLIENT_PORT 9181
#define KEEPER_CONTROL_PORT 9182
#define KEEPER_RAFT_PORT 9234

/* Append a file. Return 0, -ENOMEM, or -EFBIG beyond the limit of out. */
int clickhouse_config_xml(struct buf *out, const struct coroot_spec *s) MUST_CHECK;
int keeper_config_xml(struct buf *out, const struct coroot_spec *s) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_CLICKHOUSE_CONFIG_XML_H */
