/*
 * A request is parsed on the HTTP server's thread and answered on a thread of the pool, as
 * every answer asks the store and may take STORE_QUERY_TIMEOUT_S. The exchange, which owns the
 * texts of the parameters, stays with the request in between; the server waits for its answer.
 *
 * Endpoints and parameters are rows of tables (web_endpoints.c, web_params.c). The functions that
 * answer return -errno, which fail() turns into a status: -EFBIG and -EINVAL are the reader's to
 * mend (400, ask for a shorter range or in another way), lack of memory and a store that is busy,
 * fails or stops are worth a retry (503), all else is a fault (500). Why a store cannot be reached
 * is logged and not answered: it names servers.
 *
 * Memory: a request holds the store's answer, what is made of it, and its own answer, each with a
 * limit. Exports, which hold most, are made one at a time, and in a small container so is all that
 * is made of stacks; the others wait on their threads, as they would wait for the store's CPUs if
 * it were asked at once.
 *
 * Clients, which are addresses, share the threads (fair_pool.h), and one cannot take all of them.
 * What a client asked that has left is ended: a reader who zooms quickly has aborted all his
 * requests but the last one.
 *
 * When the agent stops, requests that wait are answered with 503 and not run.
 */
#include "cluster-agent/web/web_api.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

#include "cluster-agent/query/read/stack_cache.h"
#include "cluster-agent/store/store.h"
#include "cluster-agent/web/web_answer.h"
#include "cluster-agent/web/web_endpoints.h"
#include "cluster-agent/web/web_params.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/system/memory_limit.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "common/text/json_writer.h"
#include "common/thread/fair_pool.h"

#define DEFAULT_THREADS 3u
#define DEFAULT_MAX_QUEUED 64u
/* nginx's number for it; nobody reads the answer */
#define STATUS_CLIENT_LEFT 499
#define MAX_ANSWER_BYTES ((size_t)128 << 20)
#define MAX_LARGE_BYTES ((size_t)256 << 20)
#define API_PATH "/api/"
/* In less, an answer that is made of stacks may need half of what the engine leaves. */
#define SMALL_BYTES (2048 * MIB)
/* The engine needs half of a small container, and an answer may be there gzipped as well. */
#define ANSWER_MEMORY_SHARE 6u

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
	struct stack_cache *stacks;
	pthread_mutex_t large; /* held while a large answer is made */
	bool is_small;         /* of memory: answers made of stacks are large, too */
	size_t max_answer_bytes;
	size_t max_large_bytes;
	atomic_bool stopping;
	struct metric metrics[METRIC_MAX];
};

struct request {
	struct fair_job fair; /* first */
	struct web_api *api;
	struct store_ticket ticket;
	struct http_exchange *exchange;
	const struct web_endpoint *endpoint;
	uint64_t asked_ns;           /* realtime */
	struct query_request params; /* texts are the exchange's */
};

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
		web_answer_header(x, "Retry-After", "1");
	if (json_writer_finish(&w) < 0) {
		http_respond(x, status, "application/json", NULL, 0);
		return;
	}
	body = buf_take(&b, &len);
	http_respond(x, status, "application/json", body, len);
}

static bool is_readers(int error)
{
	return error == -EFBIG || error == -EINVAL;
}

/* Counts and logs what went wrong on our side. */
static void note_failure(struct web_api *api, const struct request *r, int error,
			 const char *reason)
{
	if (error == -EPIPE)
		metric_add(&api->metrics[METRIC_STOPPED], 1);
	log_warn_limited("failing a query", "path=%s reason=%s", http_exchange_path(r->exchange),
			 LOG_QUOTED(reason));
	metric_add(&api->metrics[METRIC_FAILED], 1);
}

static void fail(struct web_api *api, const struct request *r, int error, const char *reason)
{
	bool passes = error == -ENOMEM || error == -EIO || error == -EPIPE || error == -EAGAIN;

	if (error == -ECANCELED) {
		metric_add(&api->metrics[METRIC_LEFT], 1);
		respond_error(r->exchange, STATUS_CLIENT_LEFT, "the client has left");
		return;
	}
	if (!reason[0])
		reason = error == -EFBIG    ? "the answer is too large, ask for a shorter range"
			 : error == -ENOMEM ? "out of memory"
					    : strerror(-error);
	if (is_readers(error)) {
		metric_add(&api->metrics[METRIC_BAD_REQUEST], 1);
		respond_error(r->exchange, 400, reason);
		return;
	}
	note_failure(api, r, error, reason);
	if (error == -EAGAIN)
		reason = "the store is busy or cannot be reached; uploads are kept meanwhile";
	respond_error(r->exchange, passes ? 503 : 500, reason);
}

static int ask(struct web_api *api, const struct request *r, struct buf *out, struct err *err)
{
	bool alone = r->endpoint->is_large || (api->is_small && r->endpoint->has_stacks);
	uint64_t start_ns;
	int e;

	if (alone)
		pthread_mutex_lock(&api->large);
	start_ns = clock_monotonic_ns();
	e = r->endpoint->answer(api->store, &r->params, out, err);
	metric_add(&api->metrics[METRIC_SECONDS], clock_monotonic_ns() - start_ns);
	if (alone)
		pthread_mutex_unlock(&api->large);
	return e;
}

static void answer(struct web_api *api, const struct request *r)
{
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};
	size_t len;
	char *body;
	int e;

	buf_init(&out, r->endpoint->is_large ? api->max_large_bytes : api->max_answer_bytes);
	e = ask(api, r, &out, &err);
	if (e < 0) {
		fail(api, r, e, err.msg);
		return;
	}
	metric_add(&api->metrics[METRIC_ANSWERED], 1);
	body = buf_take(&out, &len);
	web_answer_send(r->exchange, r->endpoint, &r->params, r->asked_ns, body, len);
}

/* Says which paths there are. */
static void refuse_path(struct web_api *api, struct http_exchange *x)
{
	CLEANUP(buf_fini) struct buf reason;
	int r;

	metric_add(&api->metrics[METRIC_BAD_REQUEST], 1);
	buf_init(&reason, 4096);
	r = buf_addf(&reason, "no such path; there are");
	for (unsigned i = 0; r == 0 && i < WEB_ENDPOINT_MAX; i++)
		if (web_endpoints[i].path[0])
			r = buf_addf(&reason, " " API_PATH "%s", web_endpoints[i].path);
	respond_error(x, 404, r == 0 ? reason.data : "no such path");
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
		/*
		 * The pieces of a tree are scattered over the heap of this thread. Without this the
		 * heap of each thread stays as large as it ever was, and all of them exceed a small
		 * container.
		 */
		if (r->endpoint->has_stacks)
			malloc_trim(0);
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

/* Returns an id, or WEB_ENDPOINT_MAX. */
static enum web_endpoint_id find_endpoint(const char *path)
{
	if (strcmp(path, "/readyz") == 0)
		return WEB_READY;
	if (strncmp(path, API_PATH, strlen(API_PATH)) != 0)
		return WEB_ENDPOINT_MAX;
	path += strlen(API_PATH);
	for (unsigned i = 0; i < WEB_ENDPOINT_MAX; i++)
		if (web_endpoints[i].path[0] && strcmp(web_endpoints[i].path, path) == 0)
			return i;
	return WEB_ENDPOINT_MAX;
}

struct given_params {
	struct web_param_text items[WEB_PARAMS_MAX];
	size_t n_items; /* all that came */
};

static void add_param(void *ctx, const char *name, const char *value)
{
	struct given_params *g = ctx;

	if (g->n_items < WEB_PARAMS_MAX)
		g->items[g->n_items] = (struct web_param_text){name, value};
	g->n_items++;
}

static int read_params(struct http_exchange *x, enum web_endpoint_id id, struct request *r,
		       struct err *err)
{
	struct given_params given = {.n_items = 0};

	/* who probes it may add what he likes */
	if (id != WEB_READY)
		http_exchange_each_param(x, add_param, &given);
	if (given.n_items > WEB_PARAMS_MAX)
		return err_set(err, -EINVAL, "there are more than %u parameters", WEB_PARAMS_MAX);
	return web_params_parse(&r->params, id, given.items, given.n_items,
				(int64_t)(r->asked_ns / NS_PER_MS), err);
}

void web_api_serve(void *ctx, struct http_exchange *x)
{
	struct web_api *api = ctx;
	AUTO_FREE struct request *r = NULL;
	enum web_endpoint_id id = find_endpoint(http_exchange_path(x));
	struct err err = {""};

	if (id == WEB_ENDPOINT_MAX) {
		refuse_path(api, x);
		return;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		refuse_busy(api, x, "out of memory");
		return;
	}
	r->exchange = x;
	r->endpoint = &web_endpoints[id];
	r->asked_ns = clock_realtime_ns();
	if (read_params(x, id, r, &err) < 0) {
		metric_add(&api->metrics[METRIC_BAD_REQUEST], 1);
		respond_error(x, 400, err.msg);
		return;
	}
	r->api = api;
	r->params.filter.ticket = r->params.base.ticket = &r->ticket;
	r->params.filter.stacks = api->stacks;
	metric_add(&api->metrics[METRIC_WAITING], 1);
	http_exchange_on_left(x, cancel, r);
	if (fair_pool_submit(api->pool, &r->fair, http_exchange_client(x)) == 0) {
		r = NULL; /* run() frees it */
		return;
	}
	metric_sub(&api->metrics[METRIC_WAITING], 1);
	refuse_busy(api, x, "too many queries are waiting");
}

static size_t limit_to(size_t bytes, uint64_t most)
{
	return bytes < most ? bytes : (size_t)most;
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
	uint64_t memory = memory_limit_read();
	int r;

	if (!api)
		return -ENOMEM;
	api->store = cfg->store;
	pthread_mutex_init(&api->large, NULL);
	api->is_small = memory < SMALL_BYTES;
	api->max_answer_bytes = limit_to(MAX_ANSWER_BYTES, memory / ANSWER_MEMORY_SHARE);
	api->max_large_bytes = limit_to(MAX_LARGE_BYTES, memory / ANSWER_MEMORY_SHARE);
	r = stack_cache_new(&api->stacks, LIMIT_STACK_CACHE_BYTES);
	if (r < 0)
		return r;
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
	pthread_mutex_destroy(&api->large);
	stack_cache_free(api->stacks);
	free(api);
}

int web_api_register(struct web_api *api, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, api->metrics, NULL);
}
