/*
 * A request passes gates before it reaches the engine: the key, and what sql_request.h checks,
 * sql_guard.h included. All of that happens on the HTTP server's thread; the query itself runs on
 * the pool, and the exchange is answered from there by sql_answer.h.
 *
 * The pool has half as many threads as the store runs queries at a time: SQL users can take no
 * more than that from the page.
 */
#include "cluster-agent/sql/clickhouse_port.h"

#include <errno.h>

#include "cluster-agent/sql/clickhouse_http.h"
#include "cluster-agent/sql/sql_answer.h"
#include "cluster-agent/sql/sql_request.h"
#include "cluster-agent/sql/sql_server.h"
#include "cluster-agent/store/store.h"
#include "common/data/buf.h"
#include "common/http/http_listen.h"
#include "common/http/http_server.h"
#include "common/telemetry/metrics.h"
#include "common/thread/worker_pool.h"

#define N_WORKERS (STORE_MAX_QUERIES / 2)
#define MAX_WAITING 64
#define MAX_CONNECTIONS 64
#define IDLE_TIMEOUT_S 60

enum {
	ANSWERED,
	REFUSED,
	EXCEPTIONS,
	N_METRICS,
};

struct clickhouse_port {
	struct store *store;
	struct sql_server identity;
	const struct access *access; /* borrowed */
	struct http_server *server;
	struct worker_pool *pool; /* of struct sql_request */
	struct metric metrics[N_METRICS];
};

#define QUERIES "coroot_cluster_agent_sql_queries_total", .help = "SQL queries, by result"

static const struct metric_def metric_defs[N_METRICS] = {
	[ANSWERED] = {.name = QUERIES, .labels = "result=\"answered\""},
	[REFUSED] = {.name = QUERIES, .labels = "result=\"refused\""},
	[EXCEPTIONS] = {.name = QUERIES, .labels = "result=\"exception\""},
};
METRIC_TABLE(metric_table, metric_defs);

/* A request that waits for the pool. */
static void request_free(struct sql_request *q)
{
	if (q)
		sql_request_fini(q);
	free(q);
}

DEFINE_CLEANUP(struct sql_request *, request_free);

static void refuse(struct clickhouse_port *p, struct http_exchange *x, enum clickhouse_code code,
		   const char *text)
{
	metric_add(&p->metrics[REFUSED], 1);
	sql_answer_refusal(x, &p->identity, code, text);
}

/* ---- requests, on the HTTP server's threads ---- */

/* Returns 0 if q may run; otherwise the request has been answered. */
static int prepare(struct clickhouse_port *p, struct sql_request *q, struct http_exchange *x)
{
	enum clickhouse_code code = CLICKHOUSE_AUTHENTICATION_FAILED;
	struct err err = {0};

	if (!sql_request_has_key(x, p->access)) {
		refuse(p, x, code, "Authentication failed: wrong or missing key");
		return -EPERM;
	}
	if (sql_request_read(q, x, &code, &err) < 0) {
		refuse(p, x, code, err.msg);
		return -EINVAL;
	}
	if (q->sql.len == 0) {
		http_respond_text(x, 200, "Ok.");
		return -ENODATA;
	}
	return 0;
}

static void handle_query(void *ctx, struct http_exchange *x)
{
	struct clickhouse_port *p = ctx;
	CLEANUP(request_freep) struct sql_request *q = calloc(1, sizeof(*q));
	char query_id[SQL_QUERY_ID_BYTES];

	sql_request_query_id(x, query_id);
	sql_answer_describe(x, &p->identity, query_id);
	if (!q) {
		refuse(p, x, CLICKHOUSE_NO_MEMORY, "Out of memory");
		return;
	}
	if (prepare(p, q, x) < 0)
		return;
	if (worker_pool_submit(p->pool, q) < 0) {
		refuse(p, x, CLICKHOUSE_TOO_MANY_QUERIES, "Too many queries are waiting");
		return;
	}
	q = NULL; /* run() frees it */
}

static void handle_ping(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond_text(x, 200, "Ok.");
}

/* ---- queries, on the pool's threads ---- */

static enum clickhouse_code code_of(int r)
{
	switch (r) {
	case -EFBIG:
		return CLICKHOUSE_ANSWER_TOO_LARGE;
	case -EAGAIN:
		return CLICKHOUSE_TOO_MANY_QUERIES;
	case -EPIPE:
		return CLICKHOUSE_CANCELLED;
	default:
		return CLICKHOUSE_ENGINE;
	}
}

static void run(void *ctx, void *job, struct arena *arena)
{
	struct clickhouse_port *p = ctx;
	CLEANUP(request_freep) struct sql_request *request = job;
	CLEANUP(buf_fini) struct buf out;
	struct store_setting settings[SQL_SETTINGS_MAX];
	struct store_query_cost cost = {0};
	const struct store_query q = {
		.lane = STORE_FOR_SQL,
		.sql = request->sql.data,
		.params = request->params,
		.n_params = request->n_params,
		.format = request->format,
		.settings = settings,
		.n_settings = request->n_settings,
		.cost = &cost,
	};
	enum clickhouse_code code;
	struct err err = {0};
	int r;

	(void)arena;
	for (size_t i = 0; i < request->n_settings; i++)
		settings[i] = (struct store_setting){request->settings[i].name,
						     request->settings[i].value};
	buf_init(&out, CLICKHOUSE_PORT_MAX_ANSWER_BYTES);
	r = store_query(p->store, &q, &out, &err);
	code = code_of(r);
	if (r == 0)
		r = sql_answer_encode(request, &out, &code, &err);
	if (r == 0) {
		metric_add(&p->metrics[ANSWERED], 1);
		sql_answer_rows(request, &p->identity, &cost, &out);
	} else if (r == -EREMOTEIO) {
		metric_add(&p->metrics[EXCEPTIONS], 1);
		sql_answer_exception(request->exchange, &p->identity, &out);
	} else {
		refuse(p, request->exchange, code, err.msg);
	}
}

/* ---- create and destroy ---- */

static int start_pool(struct clickhouse_port *p)
{
	const struct worker_pool_config cfg = {
		.n_threads = N_WORKERS,
		.max_queued = MAX_WAITING,
		.run = run,
		.ctx = p,
	};
	int r = worker_pool_new(&p->pool, &cfg);

	return r == 0 ? worker_pool_start(p->pool) : r;
}

static int start_server(struct clickhouse_port *p, const struct clickhouse_port_config *port,
			struct err *err)
{
	const struct http_route routes[] = {
		{"GET", "/", 0, handle_query, p, .scope = ACCESS_BEFORE_KEY},
		{"POST", "/", SQL_GUARD_MAX_BYTES, handle_query, p, .scope = ACCESS_BEFORE_KEY},
		{"GET", "/ping", 0, handle_ping, p, .scope = ACCESS_ANYONE},
		{0},
	};
	const struct http_server_config cfg = {
		.listen = port->listen,
		.tls = port->tls,
		.max_connections = MAX_CONNECTIONS,
		.timeout_s = IDLE_TIMEOUT_S,
		.max_body_memory_bytes = 16 * SQL_GUARD_MAX_BYTES,
		.routes = routes,
		.access = p->access,
	};

	return http_server_new(&p->server, &cfg, err);
}

int clickhouse_port_new(struct clickhouse_port **ret, const struct clickhouse_port_config *cfg,
			struct err *err)
{
	CLEANUP(clickhouse_port_freep) struct clickhouse_port *p = NULL;
	int r;

	if (!access_needs_key(cfg->access, ACCESS_READ) && !http_listen_is_loopback(cfg->listen))
		return err_set(
			err, -EPERM,
			"SQL on %s needs --read-api-key or --api-key; only loopback addresses do "
			"without",
			cfg->listen);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->store = cfg->store;
	p->access = cfg->access;
	r = sql_server_read(&p->identity, p->store, err);
	if (r < 0)
		return err_wrap(err, r, "SQL");
	r = start_pool(p);
	if (r < 0)
		return err_set(err, r, "start SQL on %s: %s", cfg->listen, strerror(-r));
	r = start_server(p, cfg, err);
	if (r < 0)
		return err_wrap(err, r, "SQL");
	*ret = TAKE_PTR(p);
	return 0;
}

void clickhouse_port_free(struct clickhouse_port *p)
{
	if (!p)
		return;
	/* waits until the pool has answered every request */
	http_server_free(p->server);
	worker_pool_free(p->pool);
	free(p);
}

unsigned clickhouse_port_number(const struct clickhouse_port *p)
{
	return http_server_port(p->server);
}

int clickhouse_port_register(struct clickhouse_port *p, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, p->metrics, NULL);
}
