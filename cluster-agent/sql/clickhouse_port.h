/*
 * SQL over HTTP on the embedded store, as ClickHouse's own port 8123 speaks it: curl, Grafana,
 * DBeaver and others work. Read-only (sql_guard.h, and connections the engine has locked).
 *
 * GET /?query=… or POST / with the query as body (both: joined by a newline); param_<name>=…;
 * default_format or X-ClickHouse-Format; FORMAT in the query is stronger; /ping. Answers are whole,
 * up to CLICKHOUSE_PORT_MAX_ANSWER_BYTES. Settings in the URL are ignored. Threads of its own run
 * the queries, so a slow one holds nobody else up for long: at most half of STORE_MAX_QUERIES are
 * from here.
 */
#ifndef CLUSTER_AGENT_SQL_CLICKHOUSE_PORT_H
#define CLUSTER_AGENT_SQL_CLICKHOUSE_PORT_H

#include "common/base.h"
#include "common/err.h"

struct clickhouse_port;
struct metrics;
struct store;

#define CLICKHOUSE_PORT_MAX_ANSWER_BYTES (UINT64_C(64) << 20)

struct clickhouse_port_config {
	struct store *store; /* borrowed; must outlive the port */
	const char *listen;  /* "127.0.0.1:8123"; copied */
	const char *api_key; /* copied; NULL or "": none, then only loopback addresses */
};

/* -EPERM: no key and not loopback; else as http_server_new(); with a sentence in err. */
int clickhouse_port_new(struct clickhouse_port **ret, const struct clickhouse_port_config *cfg,
			struct err *err) MUST_CHECK;
/* Lets queries under way end, answers the waiting ones. */
void clickhouse_port_free(struct clickhouse_port *p);
DEFINE_CLEANUP(struct clickhouse_port *, clickhouse_port_free);

/* The number it listens on. */
unsigned clickhouse_port_number(const struct clickhouse_port *p);
/* Counters coroot_cluster_agent_sql_*; before requests are expected. The port must outlive ms. */
int clickhouse_port_register(struct clickhouse_port *p, struct metrics *ms) MUST_CHECK;

#endif /* CLUSTER_AGENT_SQL_CLICKHOUSE_PORT_H */
