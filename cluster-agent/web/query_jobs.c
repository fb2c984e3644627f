/*
 * The functions that answer return -errno, which decides about the status: -EFBIG, -EINVAL and
 * -ENOSYS are the reader's to mend (400, ask for a shorter range or in another way), lack of memory
 * and a store that is busy, fails or stops are worth a retry (503), all else is a fault (500). Why
 * a store cannot be reached is logged and not answered: it names servers.
 */
#include "cluster-agent/web/query_jobs.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>

#include "cluster-agent/query/read/stack_cache.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/system/memory_limit.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"

#define DEFAULT_THREADS 3u
#define DEFAULT_MAX_QUEUED 64u
#define MAX_ANSWER_BYTES ((size_t)128 << 20)
#define MAX_LARGE_BYTES ((size_t)256 << 20)
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

struct query_jobs {
	struct store *store;
	struct fair_pool *pool; /* of struct query_job */
	struct stack_cache *stacks;
	struct symbol_store *symbols;
	struct source_code *sources;
	pthread_mutex_t large; /* held while a large answer is made */
	bool is_small;         /* of memory: answers made of stacks are large, too */
	size_t max_answer_bytes;
	size_t max_large_bytes;
	atomic_bool stopping;
	struct metric metrics[METRIC_MAX];
};

struct store *query_jobs_store(struct query_jobs *q)
{
	return q->store;
}

struct stack_cache *query_jobs_stacks(struct query_jobs *q)
{
	return q->stacks;
}

struct symbol_store *query_jobs_symbols(struct query_jobs *q)
{
	return q->symbols;
}

struct source_code *query_jobs_sources(struct query_jobs *q)
{
	return q->sources;
}

void query_jobs_count_bad_request(struct query_jobs *q)
{
	metric_add(&q->metrics[METRIC_BAD_REQUEST], 1);
}

void query_jobs_count_busy(struct query_jobs *q)
{
	metric_add(&q->metrics[METRIC_BUSY], 1);
}

static bool is_readers(int error)
{
	return error == -ENOENT || error == -EFBIG || error == -EINVAL || error == -ENOSYS;
}

/* Counts and logs what went wrong on our side. */
static void note_failure(struct query_jobs *q, const struct query_job *j, int error,
			 const char *reason)
{
	if (error == -EPIPE)
		metric_add(&q->metrics[METRIC_STOPPED], 1);
	log_warn_limited("failing a query", "path=%s reason=%s", http_exchange_path(j->exchange),
			 LOG_QUOTED(reason));
	metric_add(&q->metrics[METRIC_FAILED], 1);
}

static void fail(struct query_jobs *q, struct query_job *j, int error, const char *reason)
{
	bool passes = error == -ENOMEM || error == -EIO || error == -EPIPE || error == -EAGAIN;

	if (error == -ECANCELED) {
		metric_add(&q->metrics[METRIC_LEFT], 1);
		j->ops->fail(j, QUERY_JOB_LEFT, error, "the client has left");
		return;
	}
	if (!reason[0])
		reason = error == -EFBIG    ? "the answer is too large, ask for a shorter range"
			 : error == -ENOMEM ? "out of memory"
					    : strerror(-error);
	if (is_readers(error)) {
		metric_add(&q->metrics[METRIC_BAD_REQUEST], 1);
		j->ops->fail(j, error == -ENOENT ? 404 : 400, error, reason);
		return;
	}
	note_failure(q, j, error, reason);
	if (error == -EAGAIN)
		reason = "the store is busy or cannot be reached; uploads are kept meanwhile";
	j->ops->fail(j, passes ? 503 : 500, error, reason);
}

static int ask(struct query_jobs *q, struct query_job *j, struct buf *out, struct err *err)
{
	bool alone = j->is_large || (q->is_small && j->has_stacks);
	uint64_t start_ns;
	int e;

	if (alone)
		pthread_mutex_lock(&q->large);
	start_ns = clock_monotonic_ns();
	e = j->ops->ask(j, out, err);
	metric_add(&q->metrics[METRIC_SECONDS], clock_monotonic_ns() - start_ns);
	if (alone)
		pthread_mutex_unlock(&q->large);
	return e;
}

static void answer(struct query_jobs *q, struct query_job *j)
{
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};
	size_t len;
	char *body;
	int e;

	buf_init(&out, j->is_large ? q->max_large_bytes : q->max_answer_bytes);
	e = ask(q, j, &out, &err);
	if (e < 0) {
		fail(q, j, e, err.msg);
		return;
	}
	metric_add(&q->metrics[METRIC_ANSWERED], 1);
	body = buf_take(&out, &len);
	j->ops->send(j, body, len);
}

static void refuse_busy(struct query_jobs *q, struct query_job *j, const char *reason)
{
	query_jobs_count_busy(q);
	j->ops->fail(j, 503, -EBUSY, reason);
}

static void run(void *ctx, struct fair_job *job, bool left)
{
	struct query_job *j = (struct query_job *)job;
	struct query_jobs *q = ctx;

	metric_sub(&q->metrics[METRIC_WAITING], 1);
	if (left) {
		metric_add(&q->metrics[METRIC_LEFT], 1);
		j->ops->fail(j, QUERY_JOB_LEFT, -ECANCELED, "the client has left");
	} else if (atomic_load(&q->stopping)) {
		refuse_busy(q, j, "shutting down");
	} else {
		metric_add(&q->metrics[METRIC_RUNNING], 1);
		answer(q, j);
		/*
		 * The pieces of a tree are scattered over the heap of this thread. Without this the
		 * heap of each thread stays as large as it ever was, and all of them exceed a small
		 * container.
		 */
		if (j->has_stacks)
			malloc_trim(0);
		metric_sub(&q->metrics[METRIC_RUNNING], 1);
	}
	j->ops->free(j);
}

/* On the HTTP server's thread, while the request waits or runs. */
static void cancel(void *ctx)
{
	struct query_job *j = ctx;

	store_cancel(j->jobs->store, &j->ticket);
	fair_pool_leave(j->jobs->pool, &j->fair);
}

void query_jobs_submit(struct query_jobs *q, struct query_job *j)
{
	j->jobs = q;
	metric_add(&q->metrics[METRIC_WAITING], 1);
	http_exchange_on_left(j->exchange, cancel, j);
	if (fair_pool_submit(q->pool, &j->fair, http_exchange_client(j->exchange)) == 0)
		return;
	metric_sub(&q->metrics[METRIC_WAITING], 1);
	refuse_busy(q, j, "too many queries are waiting");
	j->ops->free(j);
}

static size_t limit_to(size_t bytes, uint64_t most)
{
	return bytes < most ? bytes : (size_t)most;
}

int query_jobs_new(struct query_jobs **ret, const struct query_jobs_config *cfg)
{
	CLEANUP(query_jobs_freep) struct query_jobs *q = calloc(1, sizeof(*q));
	struct fair_pool_config pool = {
		.n_threads = cfg->n_threads ? cfg->n_threads : DEFAULT_THREADS,
		.max_waiting = cfg->max_queued ? cfg->max_queued : DEFAULT_MAX_QUEUED,
		.run = run,
		.ctx = q,
	};
	uint64_t memory = memory_limit_read();
	int r;

	if (!q)
		return -ENOMEM;
	q->store = cfg->store;
	q->symbols = cfg->symbols;
	q->sources = cfg->sources;
	pthread_mutex_init(&q->large, NULL);
	q->is_small = memory < SMALL_BYTES;
	q->max_answer_bytes = limit_to(MAX_ANSWER_BYTES, memory / ANSWER_MEMORY_SHARE);
	q->max_large_bytes = limit_to(MAX_LARGE_BYTES, memory / ANSWER_MEMORY_SHARE);
	r = stack_cache_new(&q->stacks, LIMIT_STACK_CACHE_BYTES);
	if (r < 0)
		return r;
	pool.max_running_per_client = pool.n_threads > 1 ? pool.n_threads - 1 : 1;
	pool.max_waiting_per_client = (pool.max_waiting + 1) / 2;
	r = fair_pool_new(&q->pool, &pool);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(q);
	return 0;
}

void query_jobs_stop(struct query_jobs *q)
{
	if (!q->pool)
		return;
	atomic_store(&q->stopping, true);
	fair_pool_stop(q->pool);
}

void query_jobs_free(struct query_jobs *q)
{
	if (!q)
		return;
	query_jobs_stop(q);
	fair_pool_free(q->pool);
	pthread_mutex_destroy(&q->large);
	stack_cache_free(q->stacks);
	free(q);
}

int query_jobs_register(struct query_jobs *q, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, q->metrics, NULL);
}
