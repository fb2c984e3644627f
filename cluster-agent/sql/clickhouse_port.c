/*
 * A request passes three gates before it reaches the engine: the key, the features that we do
 * not have (a client that asks for them would misread our answer, so it gets an exception
 * instead), and sql_guard.h. All of that happens on the HTTP server's thread; the query itself
 * runs on the pool, and the exchange is answered from there.
 *
 * Clients know ClickHouse's conventions and nothing else. So every refusal is worded and
 * numbered as an exception of ClickHouse ("Code: 164. DB::Exception: …",
 * X-ClickHouse-Exception-Code), and its HTTP status follows from the code. Exceptions of the
 * engine are passed through as they are.
 *
 * The pool has half as many threads as the store runs queries at a time: SQL users can take no
 * more than that from the page.
 */
#include "cluster-agent/sql/clickhouse_port.h"

#include <errno.h>

#include "cluster-agent/sql/clickhouse_http.h"
#include "cluster-agent/sql/sql_guard.h"
#include "cluster-agent/store/store.h"
#include "common/data/buf.h"
#include "common/http/http_server.h"
#include "common/telemetry/metrics.h"
#include "common/text/secret.h"
#include "common/thread/worker_pool.h"

#define N_WORKERS (STORE_MAX_QUERIES / 2)
#define MAX_WAITING 64
#define MAX_PARAMS 32
#define MAX_CONNECTIONS 64
#define IDLE_TIMEOUT_S 60

/* ClickHouse's numbers for the exceptions that we make ourselves */
enum {
	CODE_SYNTAX_ERROR = 62,
	CODE_UNKNOWN_DATABASE = 81,
	CODE_NOT_IMPLEMENTED = 48,
	CODE_QUERY_TOO_LARGE = 62,
	CODE_READONLY = 164,
	CODE_TOO_MANY_QUERIES = 202,
	CODE_NO_MEMORY = 241,
	CODE_CANCELLED = 394,
	CODE_ANSWER_TOO_LARGE = 396,
	CODE_AUTHENTICATION_FAILED = 516,
	CODE_ENGINE = 1001,
};

enum {
	ANSWERED,
	REFUSED,
	EXCEPTIONS,
	N_METRICS,
};

struct job {
	struct http_exchange *exchange;
	struct buf sql;
	struct store_param params[MAX_PARAMS]; /* borrowed from the exchange */
	size_t n_params;
	const char *format; /* borrowed from the exchange, or from facts */
	struct sql_facts facts;
};

struct clickhouse_port {
	struct store *store;
	char *api_key; /* NULL: none */
	struct http_server *server;
	struct worker_pool *pool; /* of struct job */
	struct metric metrics[N_METRICS];
};

#define QUERIES "coroot_cluster_agent_sql_queries_total", .help = "SQL queries, by result"

static const struct metric_def metric_defs[N_METRICS] = {
	[ANSWERED] = {.name = QUERIES, .labels = "result=\"answered\""},
	[REFUSED] = {.name = QUERIES, .labels = "result=\"refused\""},
	[EXCEPTIONS] = {.name = QUERIES, .labels = "result=\"exception\""},
};
METRIC_TABLE(metric_table, metric_defs);

static void job_free(struct job *j)
{
	buf_fini(&j->sql);
	free(j);
}

DEFINE_CLEANUP(struct job *, job_free);

/* text_adopt is the body and is freed with the answer; NULL sends an empty one. */
static void respond_exception(struct http_exchange *x, int code, char *text_adopt, size_t len)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", code);
	/* the answer is of use without the header, too */
	if (http_exchange_set_header(x, "X-ClickHouse-Exception-Code", number) < 0)
		code = CODE_NO_MEMORY;
	http_respond(x, clickhouse_status(code), "text/plain; charset=UTF-8", text_adopt, len);
}

static void refuse(struct clickhouse_port *p, struct http_exchange *x, int code, const char *text)
{
	CLEANUP(buf_fini) struct buf body;
	size_t len;
	char *data;

	metric_add(&p->metrics[REFUSED], 1);
	buf_init(&body, 4096);
	if (buf_addf(&body, "Code: %d. DB::Exception: %s.\n", code, text) < 0)
		buf_fini(&body);
	data = buf_take(&body, &len);
	respond_exception(x, code, data, len);
}

/* ---- requests, on the HTTP server's threads ---- */

static bool is_allowed(const struct clickhouse_port *p, const struct http_exchange *x)
{
	char password[CLICKHOUSE_PASSWORD_BYTES + 1];
	const char *basic = http_exchange_header(x, "Authorization");
	const char *given[] = {
		http_exchange_header(x, "X-ClickHouse-Key"),
		http_exchange_param(x, "password"),
	};

	if (http_exchange_has_api_key(x, p->api_key))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		if (secret_equal(given[i], p->api_key))
			return true;
	}
	return basic && clickhouse_basic_password(basic, password) == 0 &&
	       secret_equal(password, p->api_key);
}

static void add_param(void *ctx, const char *name, const char *value)
{
	static const char prefix[] = "param_";
	const size_t n = sizeof(prefix) - 1;
	struct job *j = ctx;

	if (strncmp(name, prefix, n) != 0)
		return;
	/* prepare() refuses the request if there are too many */
	if (j->n_params < MAX_PARAMS)
		j->params[j->n_params] = (struct store_param){name + n, value};
	j->n_params++;
}

/* Returns why the request cannot be served, or NULL. */
static const char *unsupported(const struct http_exchange *x, int *ret_code)
{
	static const char *const binary[] = {"compress", "decompress"};
	const char *database = http_exchange_param(x, "database");

	if (!database)
		database = http_exchange_header(x, "X-ClickHouse-Database");
	if (database && *database && strcmp(database, "default") != 0 &&
	    strcmp(database, "coroot") != 0) {
		*ret_code = CODE_UNKNOWN_DATABASE;
		return "Only the database coroot can be chosen; name others in the query";
	}
	*ret_code = CODE_NOT_IMPLEMENTED;
	for (size_t i = 0; i < ARRAY_SIZE(binary); i++) {
		const char *v = http_exchange_param(x, binary[i]);

		if (v && strcmp(v, "1") == 0)
			return "The parameters compress and decompress are not supported; "
			       "Accept-Encoding is";
	}
	return NULL;
}

static int read_sql(struct job *j)
{
	const char *query = http_exchange_param(j->exchange, "query");
	size_t body_len;
	const void *body = http_exchange_body(j->exchange, &body_len);
	int r = 0;

	buf_init(&j->sql, 2 * SQL_GUARD_MAX_BYTES + 2);
	if (query)
		r = buf_add(&j->sql, query, strlen(query));
	if (r == 0 && body_len > 0 && j->sql.len > 0)
		r = buf_add(&j->sql, "\n", 1);
	if (r == 0 && body_len > 0)
		r = buf_add(&j->sql, body, body_len);
	return r;
}

static const char *chosen_format(const struct job *j)
{
	const char *format = http_exchange_param(j->exchange, "default_format");

	if (!format)
		format = http_exchange_header(j->exchange, "X-ClickHouse-Format");
	if (j->facts.format[0])
		format = j->facts.format;
	return format && *format ? format : "TabSeparated";
}

/* Returns 0 if j may run; otherwise the request has been answered. */
static int prepare(struct clickhouse_port *p, struct job *j)
{
	struct err err = {0};
	int code = CODE_AUTHENTICATION_FAILED, r;
	const char *text;

	if (!is_allowed(p, j->exchange)) {
		refuse(p, j->exchange, code, "Authentication failed: wrong or missing key");
		return -EPERM;
	}
	text = unsupported(j->exchange, &code);
	if (!text) {
		http_exchange_each_param(j->exchange, add_param, j);
		code = CODE_SYNTAX_ERROR;
		if (j->n_params > MAX_PARAMS)
			text = "Too many query parameters";
	}
	if (!text) {
		r = read_sql(j);
		if (r == 0 && j->sql.len == 0) {
			http_respond_text(j->exchange, 200, "Ok.");
			return -ENODATA;
		}
		if (r == 0)
			r = sql_guard_check(j->sql.data, j->sql.len, &j->facts, &err);
		if (r == 0) {
			j->format = chosen_format(j);
			return 0;
		}
		code = r == -EPERM    ? CODE_READONLY
		       : r == -ENOMEM ? CODE_NO_MEMORY
				      : CODE_SYNTAX_ERROR;
		text = err.msg[0] ? err.msg : "The query is too long";
	}
	refuse(p, j->exchange, code, text);
	return -EINVAL;
}

static void handle_query(void *ctx, struct http_exchange *x)
{
	struct clickhouse_port *p = ctx;
	CLEANUP(job_freep) struct job *j = calloc(1, sizeof(*j));

	if (!j) {
		refuse(p, x, CODE_NO_MEMORY, "Out of memory");
		return;
	}
	j->exchange = x;
	if (prepare(p, j) < 0)
		return;
	if (worker_pool_submit(p->pool, j) < 0) {
		refuse(p, x, CODE_TOO_MANY_QUERIES, "Too many queries are waiting");
		return;
	}
	j = NULL; /* run() frees it */
}

static void handle_ping(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond_text(x, 200, "Ok.");
}

/* ---- queries, on the pool's threads ---- */

static void respond_failure(struct clickhouse_port *p, struct job *j, int r, struct buf *out,
			    const struct err *err)
{
	size_t len;
	char *text;
	int code;

	if (r != -EREMOTEIO) {
		code = r == -EFBIG    ? CODE_ANSWER_TOO_LARGE
		       : r == -EAGAIN ? CODE_TOO_MANY_QUERIES
		       : r == -EPIPE  ? CODE_CANCELLED
				      : CODE_ENGINE;
		refuse(p, j->exchange, code, err->msg);
		return;
	}
	metric_add(&p->metrics[EXCEPTIONS], 1);
	code = store_exception_code(out->data, out->len);
	text = buf_take(out, &len);
	respond_exception(j->exchange, code ? code : CODE_ENGINE, text, len);
}

static void run(void *ctx, void *job, struct arena *arena)
{
	struct clickhouse_port *p = ctx;
	CLEANUP(job_freep) struct job *j = job;
	CLEANUP(buf_fini) struct buf out;
	const struct store_query q = {
		.sql = j->sql.data,
		.params = j->params,
		.n_params = j->n_params,
		.format = j->format,
	};
	struct err err = {0};
	size_t len;
	char *data;
	int r;

	(void)arena;
	buf_init(&out, CLICKHOUSE_PORT_MAX_ANSWER_BYTES);
	r = store_query(p->store, &q, &out, &err);
	if (r == 0)
		r = http_exchange_set_header(j->exchange, "X-ClickHouse-Format", j->format);
	if (r == -EINVAL)
		err_set(&err, r, "bad name of a format");
	if (r < 0) {
		respond_failure(p, j, r, &out, &err);
		return;
	}
	metric_add(&p->metrics[ANSWERED], 1);
	data = buf_take(&out, &len);
	http_respond(j->exchange, 200, clickhouse_content_type(j->format), data, len);
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

static int start_server(struct clickhouse_port *p, const char *listen, struct err *err)
{
	const struct http_route routes[] = {
		{"GET", "/", 0, handle_query, p},
		{"POST", "/", SQL_GUARD_MAX_BYTES, handle_query, p},
		{"GET", "/ping", 0, handle_ping, p},
		{0},
	};
	const struct http_server_config cfg = {
		.listen = listen,
		.max_connections = MAX_CONNECTIONS,
		.timeout_s = IDLE_TIMEOUT_S,
		.max_body_memory_bytes = 16 * SQL_GUARD_MAX_BYTES,
		.routes = routes,
	};

	return http_server_new(&p->server, &cfg, err);
}

int clickhouse_port_new(struct clickhouse_port **ret, const struct clickhouse_port_config *cfg,
			struct err *err)
{
	CLEANUP(clickhouse_port_freep) struct clickhouse_port *p = NULL;
	bool has_key = cfg->api_key && *cfg->api_key;
	int r;

	if (!has_key && !clickhouse_is_loopback(cfg->listen))
		return err_set(err, -EPERM,
			       "SQL on %s needs --api-key; only loopback addresses do without",
			       cfg->listen);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->store = cfg->store;
	if (has_key) {
		p->api_key = strdup(cfg->api_key);
		if (!p->api_key)
			return err_set(err, -ENOMEM, "out of memory");
	}
	r = start_pool(p);
	if (r < 0)
		return err_set(err, r, "start SQL on %s: %s", cfg->listen, strerror(-r));
	r = start_server(p, cfg->listen, err);
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
	free(p->api_key);
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
