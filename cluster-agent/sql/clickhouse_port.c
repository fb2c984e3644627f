/*
 * A request passes gates before it reaches the engine: the key, and what sql_request.h checks,
 * sql_guard.h included. All of that happens on the HTTP server's thread; the query itself runs on
 * the pool, and the exchange is answered from there by sql_answer.h.
 *
 * The pool has as many threads as the store has connections for this port. Nobody takes all of
 * them: a client, which is an address, has so many at most, and the next query is that of the
 * client that has the fewest (fair_pool.h). A key is no client, as one is usually shared by all.
 *
 * A query whose client has left is ended: by its ticket if it runs, by the pool if it waits. It is
 * answered all the same, as every exchange must be.
 */
#include "cluster-agent/sql/clickhouse_port.h"

#include <errno.h>

#include "cluster-agent/sql/clickhouse_http.h"
#include "cluster-agent/sql/sql_answer.h"
#include "cluster-agent/sql/sql_request.h"
#include "cluster-agent/sql/sql_running.h"
#include "cluster-agent/sql/sql_server.h"
#include "cluster-agent/store/store.h"
#include "common/data/buf.h"
#include "common/http/http_listen.h"
#include "common/http/http_server.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/system/memory_limit.h"
#include "common/telemetry/metrics.h"
#include "common/thread/fair_pool.h"

#define MAX_RUNNING_PER_CLIENT (STORE_MAX_QUERIES / 2)
#define MAX_WAITING 64
#define MAX_WAITING_PER_CLIENT 24
#define MAX_WAIT_NS (STORE_QUERY_TIMEOUT_S * NS_PER_S)
#define MAX_CONNECTIONS 64
#define IDLE_TIMEOUT_S 60
/* Parts of memory: of one answer while it is made, and of all that clients have not read. */
#define ANSWER_PARTS 32
#define UNREAD_PARTS 8

enum {
	ANSWERED,
	REFUSED,
	EXCEPTIONS,
	LEFT,
	TIMED_OUT,
	STOPPED,
	RUNNING,
	WAITING,
	N_METRICS,
};

struct clickhouse_port {
	struct store *store;
	uint64_t memory_bytes; /* that the process may use */
	struct sql_server identity;
	const struct access *access; /* borrowed */
	struct http_server *server;
	struct fair_pool *pool; /* of struct job */
	struct sql_running running;
	struct metric metrics[N_METRICS];
};

#define QUERIES "coroot_cluster_agent_sql_queries_total", .help = "SQL queries, by result"

#define CANCELLED                                           \
	"coroot_cluster_agent_sql_queries_cancelled_total", \
		.help = "SQL queries that were ended, by reason"

static const struct metric_def metric_defs[N_METRICS] = {
	[ANSWERED] = {.name = QUERIES, .labels = "result=\"answered\""},
	[REFUSED] = {.name = QUERIES, .labels = "result=\"refused\""},
	[EXCEPTIONS] = {.name = QUERIES, .labels = "result=\"exception\""},
	[LEFT] = {.name = CANCELLED, .labels = "reason=\"client_left\""},
	[TIMED_OUT] = {.name = CANCELLED, .labels = "reason=\"timeout\""},
	[STOPPED] = {.name = CANCELLED, .labels = "reason=\"shutdown\""},
	[RUNNING] = {.name = "coroot_cluster_agent_sql_queries_running",
		     .help = "SQL queries that are under way",
		     .kind = METRIC_GAUGE},
	[WAITING] = {.name = "coroot_cluster_agent_sql_queries_waiting",
		     .help = "SQL queries that wait for others to end",
		     .kind = METRIC_GAUGE},
};
METRIC_TABLE(metric_table, metric_defs);

/* A request that waits for the pool, or runs. */
struct job {
	struct fair_job fair; /* first */
	struct clickhouse_port *port;
	struct sql_request request;
	struct store_ticket ticket;
	struct sql_running_query running;
	uint64_t since_ns;
};

static void job_free(struct job *j)
{
	if (!j)
		return;
	if (j->port)
		sql_running_remove(&j->port->running, &j->running);
	sql_request_fini(&j->request);
	free(j);
}

DEFINE_CLEANUP(struct job *, job_free);

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
	if (q->command.kind == SQL_COMMAND_NOTHING) {
		metric_add(&p->metrics[ANSWERED], 1);
		http_respond(x, 200, "text/plain; charset=UTF-8", NULL, 0);
		return -ENODATA;
	}
	return 0;
}

/* On threads of the HTTP server, while the job waits or runs. */
static void cancel(void *ctx)
{
	struct job *j = ctx;

	store_cancel(j->port->store, &j->ticket);
	fair_pool_leave(j->port->pool, &j->fair);
}

static void submit(struct clickhouse_port *p, struct job *j, struct http_exchange *x)
{
	int r;

	j->since_ns = clock_monotonic_ns();
	metric_add(&p->metrics[WAITING], 1);
	if (j->request.command.kind == SQL_COMMAND_KILL)
		sql_running_cancel(&p->running, j->request.command.query_id);
	j->running.cancel = cancel;
	j->running.ctx = j;
	sql_running_add(&p->running, &j->running);
	http_exchange_on_left(x, cancel, j);
	r = fair_pool_submit(p->pool, &j->fair, http_exchange_client(x));
	if (r == 0)
		return; /* run() frees it, and may have done so */
	metric_sub(&p->metrics[WAITING], 1);
	refuse(p, x, CLICKHOUSE_TOO_MANY_QUERIES,
	       r == -EDQUOT ? "Too many queries of this client are waiting"
			    : "Too many queries are waiting");
	job_free(j);
}

static void handle_query(void *ctx, struct http_exchange *x)
{
	struct clickhouse_port *p = ctx;
	CLEANUP(job_freep) struct job *j = calloc(1, sizeof(*j));

	if (!j) {
		refuse(p, x, CLICKHOUSE_NO_MEMORY, "Out of memory");
		return;
	}
	j->port = p;
	sql_request_query_id(x, j->running.id);
	sql_answer_describe(x, &p->identity, j->running.id);
	if (prepare(p, &j->request, x) == 0)
		submit(p, TAKE_PTR(j), x);
}

/* GET without a query: who watches the port needs no key, as at a server. */
static void handle_get(void *ctx, struct http_exchange *x)
{
	if (http_exchange_param(x, "query"))
		handle_query(ctx, x);
	else
		http_respond_text(x, 200, "Ok.");
}

/* Other paths, such as /play, the page of a server. */
static void handle_unknown(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond_text(x, 404,
			  "There is no handle %s\n\nUse / or /ping for health checks.\n\n"
			  "Send queries from your program with POST method or GET /?query=...",
			  http_exchange_path(x));
}

static void handle_ping(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond_text(x, 200, "Ok.");
}

/* ---- memory ---- */

/* A part of the process's memory, but not more than most. */
static uint64_t share(const struct clickhouse_port *p, uint64_t parts, uint64_t most)
{
	uint64_t bytes = p->memory_bytes / parts;

	return bytes < most ? bytes : most;
}

/* ---- queries, on the pool's threads ---- */

static enum clickhouse_code code_of(int r)
{
	switch (r) {
	case -EFBIG:
		return CLICKHOUSE_ANSWER_TOO_LARGE;
	case -EAGAIN:
		return CLICKHOUSE_TOO_MANY_QUERIES;
	case -ENOMEM:
		return CLICKHOUSE_NO_MEMORY;
	case -ECANCELED:
	case -EPIPE:
		return CLICKHOUSE_CANCELLED;
	default:
		return CLICKHOUSE_ENGINE;
	}
}

static void count_end(struct clickhouse_port *p, int r, const struct buf *out)
{
	if (r == -ECANCELED)
		metric_add(&p->metrics[LEFT], 1);
	else if (r == -EPIPE)
		metric_add(&p->metrics[STOPPED], 1);
	else if (r == -EREMOTEIO && store_exception_code(out->data, out->len) == CLICKHOUSE_TIMEOUT)
		metric_add(&p->metrics[TIMED_OUT], 1);
}

static int ask_store(struct job *j, struct store_query_cost *ret_cost, struct buf *out,
		     struct err *err)
{
	struct sql_request *request = &j->request;
	struct store_setting settings[SQL_SETTINGS_MAX];
	const struct store_query q = {
		.lane = STORE_FOR_SQL,
		.ticket = &j->ticket,
		.sql = request->sql.data,
		.params = request->params,
		.n_params = request->n_params,
		.format = request->format,
		.settings = settings,
		.n_settings = request->n_settings,
		.cost = ret_cost,
	};

	if (clock_monotonic_ns() - j->since_ns > MAX_WAIT_NS)
		return err_set(err, -EAGAIN, "Other queries were under way for too long");
	for (size_t i = 0; i < request->n_settings; i++)
		settings[i] = (struct store_setting){request->settings[i].name,
						     request->settings[i].value};
	return store_query(j->port->store, &q, out, err);
}

static void answer(struct job *j)
{
	struct clickhouse_port *p = j->port;
	CLEANUP(buf_fini) struct buf out;
	struct store_query_cost cost = {0};
	enum clickhouse_code code;
	struct err err = {0};
	int r;

	buf_init(&out, share(p, ANSWER_PARTS, CLICKHOUSE_PORT_MAX_ANSWER_BYTES));
	r = ask_store(j, &cost, &out, &err);
	count_end(p, r, &out);
	code = code_of(r);
	if (r == 0)
		r = sql_answer_encode(&j->request, &out, &code, &err);
	if (r == 0) {
		metric_add(&p->metrics[ANSWERED], 1);
		sql_answer_rows(&j->request, &p->identity, &cost, &out);
	} else if (r == -EREMOTEIO) {
		metric_add(&p->metrics[EXCEPTIONS], 1);
		sql_answer_exception(j->request.exchange, &p->identity, &out);
	} else {
		refuse(p, j->request.exchange, code, err.msg);
	}
}

static void run(void *ctx, struct fair_job *job, bool left)
{
	struct clickhouse_port *p = ctx;
	CLEANUP(job_freep) struct job *j = (struct job *)job;

	metric_sub(&p->metrics[WAITING], 1);
	if (left) {
		metric_add(&p->metrics[LEFT], 1);
		refuse(p, j->request.exchange, CLICKHOUSE_CANCELLED, "Query was cancelled");
		return;
	}
	metric_add(&p->metrics[RUNNING], 1);
	answer(j);
	metric_sub(&p->metrics[RUNNING], 1);
}

/* ---- create and destroy ---- */

static int start_pool(struct clickhouse_port *p)
{
	const struct fair_pool_config cfg = {
		.n_threads = STORE_MAX_QUERIES,
		.max_running_per_client = MAX_RUNNING_PER_CLIENT,
		.max_waiting = MAX_WAITING,
		.max_waiting_per_client = MAX_WAITING_PER_CLIENT,
		.run = run,
		.ctx = p,
	};

	return fair_pool_new(&p->pool, &cfg);
}

static int start_server(struct clickhouse_port *p, const struct clickhouse_port_config *port,
			struct err *err)
{
	const struct http_route routes[] = {
		{"GET", "/", 0, handle_get, p, .scope = ACCESS_BEFORE_KEY},
		{"POST", "/", SQL_GUARD_MAX_BYTES, handle_query, p, .scope = ACCESS_BEFORE_KEY},
		{"GET", "/ping", 0, handle_ping, p, .scope = ACCESS_ANYONE},
		{"GET", "/replicas_status", 0, handle_ping, p, .scope = ACCESS_ANYONE},
		{"GET", "/*", 0, handle_unknown, p, .scope = ACCESS_BEFORE_KEY},
		{0},
	};
	const struct http_server_config cfg = {
		.listen = port->listen,
		.tls = port->tls,
		.max_connections = MAX_CONNECTIONS,
		.timeout_s = IDLE_TIMEOUT_S,
		.max_body_memory_bytes = 16 * SQL_GUARD_MAX_BYTES,
		.max_answer_memory_bytes = share(p, UNREAD_PARTS, LIMIT_ANSWERS_MEMORY_BYTES),
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
			"SQL on %s needs --read-api-key, or --api-key without --anonymous-read; "
			"only loopback addresses do without",
			cfg->listen);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	sql_running_init(&p->running);
	p->store = cfg->store;
	p->access = cfg->access;
	p->memory_bytes = cfg->memory_bytes ? cfg->memory_bytes : memory_limit_read();
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
	/* waits until the pool has answered all requests */
	http_server_free(p->server);
	fair_pool_free(p->pool);
	sql_running_fini(&p->running);
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
