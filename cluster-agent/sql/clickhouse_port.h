/*
 * SQL over HTTP on the store, with the conventions of ClickHouse's own port 8123: curl,
 * Grafana, DBeaver and others work with it. Read-only, by sql_guard.h and by the engine's own
 * read-only mode.
 *
 * GET /?query=… or POST / with the query as body (if both, they are joined by a newline) or as
 * field of a form; param_<name>=…; settings (sql_settings.h); default_format or
 * X-ClickHouse-Format, unless the query has a FORMAT clause; /ping. Sessions are accepted and
 * ignored. Answers are buffered whole, up to CLICKHOUSE_PORT_MAX_ANSWER_BYTES or, with
 * little memory, up to a 32nd of it: STORE_MAX_QUERIES at a time, each copied when it is encoded.
 *
 * Queries run on threads of the port's own, STORE_MAX_QUERIES at a time and half as many of one
 * client (http_exchange_client()). A query ends when its client leaves, or asks so by KILL QUERY.
 */
#ifndef CLUSTER_AGENT_SQL_CLICKHOUSE_PORT_H
#define CLUSTER_AGENT_SQL_CLICKHOUSE_PORT_H

#include "common/base.h"
#include "common/err.h"

struct access;
struct clickhouse_port;
struct metrics;
struct store;

#define CLICKHOUSE_PORT_MAX_ANSWER_BYTES (UINT64_C(64) << 20)

struct clickhouse_port_config {
	struct store *store; /* borrowed; must outlive the port */
	const char *listen;  /* "127.0.0.1:8123"; copied */
	/* Borrowed. Reading must need a key unless listen is loopback; NULL is for tests. */
	const struct access *access;
	struct server_tls *tls; /* borrowed; NULL: plain HTTP */
	uint64_t memory_bytes;  /* that the process may use; 0: what memory_limit_read() returns */
};

/*
 * Returns 0, -EPERM if there is no key and listen is not loopback, or an error of
 * http_server_new() or of starting threads; with a sentence in err.
 */
int clickhouse_port_new(struct clickhouse_port **ret, const struct clickhouse_port_config *cfg,
			struct err *err) MUST_CHECK;
/* Lets all queries that were accepted end, and answers them. */
void clickhouse_port_free(struct clickhouse_port *p);
DEFINE_CLEANUP(struct clickhouse_port *, clickhouse_port_free);

/* The number of the TCP port. */
unsigned clickhouse_port_number(const struct clickhouse_port *p);
/* Counters coroot_cluster_agent_sql_*; before requests are expected. The port must outlive ms. */
int clickhouse_port_register(struct clickhouse_port *p, struct metrics *ms) MUST_CHECK;

#endif /* CLUSTER_AGENT_SQL_CLICKHOUSE_PORT_H */
