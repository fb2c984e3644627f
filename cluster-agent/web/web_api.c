/*
 * A request is parsed on the HTTP server's thread and answered on a thread of the pool, as
 * every answer asks the store and may take STORE_QUERY_TIMEOUT_S. The exchange, which owns the
 * texts of the parameters, stays with the request in between; the server waits for its answer.
 *
 * An endpoint is a row of a table: path, function of query/, parameters it needs, content type.
 * The functions return -errno, which fail() turns into a status: -EFBIG is the reader's to mend
 * (400, ask for a shorter range), lack of memory and a store that is busy, fails or stops are worth
 * a retry (503), all else is a fault (500). Why a store cannot be reached is logged and not
 * answered: it names servers.
 *
 * Clients, which are addresses, share the threads (fair_pool.h), and one cannot take all of them.
 * What a client asked that has left is ended: a reader who zooms quickly has aborted all his
 * requests but the last one.
 *
 * When the agent stops, requests that wait are answered with 503 and not run.
 */
#include "cluster-agent/web/web_api.h"

#include <errno.h>
#include <stdatomic.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/store/store.h"
#include "cluster-agent/web/web_params.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "common/text/json_writer.h"
#include "common/thread/fair_pool.h"

#define DEFAULT_THREADS 3u
#define DEFAULT_MAX_QUEUED 64u
/* nginx's number for it; nobody reads the answer */
#define STATUS_CLIENT_LEFT 499
#define MAX_ANSWER_BYTES ((size_t)256 << 20)

typedef int (*web_answer_fn)(struct store *store, const struct query_request *p, struct buf *out,
			     struct err *err);

struct endpoint {
	const char *path;
	web_answer_fn answer;
	enum web_params_need need;
	const char *content_type;
	const char *attachment; /* file name, or NULL */
};

static const struct endpoint endpoints[] = {
	{"/api/types", profile_query_types, WEB_PARAMS_RANGE, "application/json", NULL},
	{"/api/applications", profile_query_applications, WEB_PARAMS_RANGE, "application/json",
	 NULL},
	{"/api/timeline", profile_query_timeline, WEB_PARAMS_SERVICE_TYPE, "application/json",
	 NULL},
	{"/api/flamegraph", profile_query_flamegraph, WEB_PARAMS_SERVICE_TYPE, "application/json",
	 NULL},
	{"/api/pprof", profile_query_pprof, WEB_PARAMS_SERVICE_TYPE, "application/octet-stream",
	 "attachment; filename=\"profile.pb.gz\""},
	{"/readyz", profile_query_ready, WEB_PARAMS_RANGE, "text/plain", NULL},
};

enum {
	METRIC_ANSWERED,
	METRIC_BAD_REQUEST,
	METRIC_FAILED,
	METRIC_BUSY,
	METRIC_SECONDS,
	METRIC_LEFT,
	METRIC_STOPPED,
	METRIC_RUNNING,
	METRIC_WAITING,
	METRIC_MAX,
};

#define REQUESTS(result)                                                    \
	"coroot_cluster_agent_api_requests_total", "result=\"" result "\"", \
		"Requests to the API, by result"

#define CANCELLED(reason)                                                             \
	"coroot_cluster_agent_api_requests_cancelled_total", "reason=\"" reason "\"", \
		"Requests to the API whose "                                          \
		"queries were ended, by reason"

static const struct metric_def metric_defs[METRIC_MAX] = {
	[METRIC_ANSWERED] = {REQUESTS("answered")},
	[METRIC_BAD_REQUEST] = {REQUESTS("bad_request")},
	[METRIC_FAILED] = {REQUESTS("failed")},
	[METRIC_BUSY] = {REQUESTS("busy")},
	[METRIC_SECONDS] = {.name = "coroot_cluster_agent_api_query_seconds_total",
			    .help = "Time that workers spent on API requests",
			    .scale = 1e-9},
	[METRIC_LEFT] = {CANCELLED("client_left")},
	[METRIC_STOPPED] = {CANCELLED("shutdown")},
	[METRIC_RUNNING] = {.name = "coroot_cluster_agent_api_requests_running",
			    .help = "Requests to the API that are under way",
			    .kind = METRIC_GAUGE},
	[METRIC_WAITING] = {.name = "coroot_cluster_agent_api_requests_waiting",
			    .help = "Requests to the API that wait for others to end",
			    .kind = METRIC_GAUGE},
};
METRIC_TABLE(metric_table, metric_defs);

struct web_api {
	struct store *store;
	struct fair_pool *pool; /* of struct request */
	atomic_bool stopping;
	struct metric metrics[METRIC_MAX];
};

struct request {
	struct fair_job fair; /* first */
	struct web_api *api;
	struct store_ticket ticket;
	struct http_exchange *exchange;
	const struct endpoint *endpoint;
	struct query_request params; /* texts are the exchange's */
};

static void set_header(struct http_exchange *x, const char *name, const char *value)
{
	/* the answer is of use without the header, too */
	if (http_exchange_set_header(x, name, value) < 0)
		log_debug("answering without a header", "name=%s", name);
}

static void respond_error(struct http_exchange *x, unsigned status, const char *reason)
{
	CLEANUP(buf_fini) struct buf b;
	struct json_writer w;
	size_t len;
	char *body;

	buf_init(&b, 4096);
	json_writer_init(&w, &b);
	json_open(&w, '{');
	json_key(&w, "error");
	json_put_string(&w, reason, strlen(reason));
	json_close(&w, '}');
	if (status == 503)
		set_header(x, "Retry-After", "1");
	if (json_writer_finish(&w) < 0) {
		http_respond(x, status, "application/json", NULL, 0);
		return;
	}
	body = buf_take(&b, &len);
	http_respond(x, status, "application/json", body, len);
}

static void fail(struct web_api *api, const struct request *r, int error, const char *reason)
{
	bool passes = error == -ENOMEM || error == -EIO || error == -EPIPE || error == -EAGAIN;
	unsigned status = error == -EFBIG ? 400 : passes ? 503 : 500;

	if (error == -ECANCELED) {
		metric_add(&api->metrics[METRIC_LEFT], 1);
		respond_error(r->exchange, STATUS_CLIENT_LEFT, "the client has left");
		return;
	}
	if (error == -EPIPE)
		metric_add(&api->metrics[METRIC_STOPPED], 1);
	if (!reason[0])
		reason = error == -EFBIG    ? "the answer is too large, ask for a shorter range"
			 : error == -ENOMEM ? "out of memory"
					    : strerror(-error);
	log_warn_limited("failing a query", "path=%s reason=%s", r->endpoint->path,
			 LOG_QUOTED(reason));
	metric_add(&api->metrics[METRIC_FAILED], 1);
	if (error == -EAGAIN)
		reason = "the store is busy or cannot be reached; uploads are kept meanwhile";
	respond_error(r->exchange, status, reason);
}

static void answer(struct web_api *api, const struct request *r)
{
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};
	uint64_t start_ns = clock_monotonic_ns();
	size_t len;
	char *body;
	int e;

	buf_init(&out, MAX_ANSWER_BYTES);
	e = r->endpoint->answer(api->store, &r->params, &out, &err);
	metric_add(&api->metrics[METRIC_SECONDS], clock_monotonic_ns() - start_ns);
	if (e < 0) {
		fail(api, r, e, err.msg);
		return;
	}
	metric_add(&api->metrics[METRIC_ANSWERED], 1);
	if (r->endpoint->attachment)
		set_header(r->exchange, "Content-Disposition", r->endpoint->attachment);
	body = buf_take(&out, &len);
	http_respond(r->exchange, 200, r->endpoint->content_type, body, len);
}

static void refuse_busy(struct web_api *api, struct http_exchange *x, const char *reason)
{
	metric_add(&api->metrics[METRIC_BUSY], 1);
	respond_error(x, 503, reason);
}

static void run(void *ctx, struct fair_job *job, bool left)
{
	AUTO_FREE struct request *r = (struct request *)job;
	struct web_api *api = ctx;

	metric_sub(&api->metrics[METRIC_WAITING], 1);
	if (left) {
		metric_add(&api->metrics[METRIC_LEFT], 1);
		respond_error(r->exchange, STATUS_CLIENT_LEFT, "the client has left");
	} else if (atomic_load(&api->stopping)) {
		refuse_busy(api, r->exchange, "shutting down");
	} else {
		metric_add(&api->metrics[METRIC_RUNNING], 1);
		answer(api, r);
		metric_sub(&api->metrics[METRIC_RUNNING], 1);
	}
}

/* On the HTTP server's thread, while the request waits or runs. */
static void cancel(void *ctx)
{
	struct request *r = ctx;

	store_cancel(r->api->store, &r->ticket);
	fair_pool_leave(r->api->pool, &r->fair);
}

static const struct endpoint *find_endpoint(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(endpoints); i++)
		if (strcmp(endpoints[i].path, path) == 0)
			return &endpoints[i];
	return NULL;
}

static int read_params(struct http_exchange *x, struct request *r, struct err *err)
{
	const struct web_params_text text = {
		.service = http_exchange_param(x, "service"),
		.type = http_exchange_param(x, "type"),
		.instance = http_exchange_param(x, "instance"),
		.from = http_exchange_param(x, "from"),
		.to = http_exchange_param(x, "to"),
		.points = http_exchange_param(x, "points"),
		.max_nodes = http_exchange_param(x, "maxNodes"),
	};

	return web_params_parse(&r->params, &text, r->endpoint->need,
				(int64_t)(clock_realtime_ns() / NS_PER_MS), err);
}

void web_api_serve(void *ctx, struct http_exchange *x)
{
	struct web_api *api = ctx;
	AUTO_FREE struct request *r = NULL;
	const struct endpoint *endpoint = find_endpoint(http_exchange_path(x));
	struct err err = {""};

	if (!endpoint) {
		metric_add(&api->metrics[METRIC_BAD_REQUEST], 1);
		respond_error(x, 404, "no such path");
		return;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		refuse_busy(api, x, "out of memory");
		return;
	}
	r->exchange = x;
	r->endpoint = endpoint;
	if (read_params(x, r, &err) < 0) {
		metric_add(&api->metrics[METRIC_BAD_REQUEST], 1);
		respond_error(x, 400, err.msg);
		return;
	}
	r->api = api;
	r->params.filter.ticket = &r->ticket;
	metric_add(&api->metrics[METRIC_WAITING], 1);
	http_exchange_on_left(x, cancel, r);
	if (fair_pool_submit(api->pool, &r->fair, http_exchange_client(x)) == 0) {
		r = NULL; /* run() frees it */
		return;
	}
	metric_sub(&api->metrics[METRIC_WAITING], 1);
	refuse_busy(api, x, "too many queries are waiting");
}

int web_api_new(struct web_api **ret, const struct web_api_config *cfg)
{
	CLEANUP(web_api_freep) struct web_api *api = calloc(1, sizeof(*api));
	struct fair_pool_config pool = {
		.n_threads = cfg->n_threads ? cfg->n_threads : DEFAULT_THREADS,
		.max_waiting = cfg->max_queued ? cfg->max_queued : DEFAULT_MAX_QUEUED,
		.run = run,
		.ctx = api,
	};
	int r;

	if (!api)
		return -ENOMEM;
	api->store = cfg->store;
	pool.max_running_per_client = pool.n_threads > 1 ? pool.n_threads - 1 : 1;
	pool.max_waiting_per_client = (pool.max_waiting + 1) / 2;
	r = fair_pool_new(&api->pool, &pool);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(api);
	return 0;
}

void web_api_stop(struct web_api *api)
{
	if (!api->pool)
		return;
	atomic_store(&api->stopping, true);
	fair_pool_stop(api->pool);
}

void web_api_free(struct web_api *api)
{
	if (!api)
		return;
	web_api_stop(api);
	fair_pool_free(api->pool);
	free(api);
}

int web_api_register(struct web_api *api, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, api->metrics, NULL);
}
