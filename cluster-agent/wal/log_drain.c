#include "cluster-agent/wal/log_drain.h"

#include <errno.h>

#include "cluster-agent/store/store.h"
#include "cluster-agent/wal/drain_state.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/thread/worker_thread.h"

#define DEFAULT_PACE_NS NS_PER_S
/* An insert of so many uploads is followed by a pause BUSY_FACTOR times as long. */
#define BUSY_UPLOADS 64u
#define BUSY_FACTOR 5u
#define DEFAULT_RETRY_MIN_NS (500 * NS_PER_MS)
#define DEFAULT_RETRY_MAX_NS (30 * NS_PER_S)
/* An insert ends after 120 s, and begins 150 s / 8 after the question for claims at the latest. */
#define DEFAULT_CLAIM_WAIT_NS (150 * NS_PER_S)
#define DEFAULT_BACKLOG_BYTES (8 * MIB)
#define WAIT_FOR_SEGMENT_NS NS_PER_S
/* What it takes to end an insert that a server keeps waiting. */
#define END_NS NS_PER_S
#define PACE_STEP_NS (50 * NS_PER_MS)
#define PREFIX "coroot_cluster_agent_store_"
#define ROWS PREFIX "rows_total", .help = "Rows inserted, by table"
#define UPLOADS                 \
	PREFIX "uploads_total", \
		.help = "Uploads taken from the write-ahead log, by what became of them"

static const struct metric_def metric_defs[DRAIN_METRIC_MAX] = {
	[DRAIN_ROWS_STACKS] = {.name = ROWS, .labels = "table=\"stacks\""},
	[DRAIN_ROWS_SAMPLES] = {.name = ROWS, .labels = "table=\"samples\""},
	[DRAIN_ROWS_QUALITY] = {.name = ROWS, .labels = "table=\"quality\""},
	[DRAIN_UPLOADS_STORED] = {.name = UPLOADS, .labels = "result=\"stored\""},
	[DRAIN_UPLOADS_REFUSED] = {.name = UPLOADS, .labels = "result=\"refused\""},
	[DRAIN_UPLOADS_FOUND] = {.name = UPLOADS, .labels = "result=\"found\""},
	[DRAIN_UPLOADS_EXPIRED] = {.name = UPLOADS, .labels = "result=\"expired\""},
	[DRAIN_CLAIMED] = {.name = PREFIX "uploads_claimed_total",
			   .help = "Uploads sent again that another receiver may have, held back "
				   "until it is certain who stores them"},
	[DRAIN_BATCHES] = {.name = PREFIX "batches_total",
			   .help = "Segments of the write-ahead log inserted"},
	[DRAIN_INSERTS] = {.name = PREFIX "inserts_total", .help = "Inserts sent to the store"},
	[DRAIN_RETRIES] =
		{.name = PREFIX "retries_total",
		 .help = "Inserts and other requests of the writer that failed and were repeated"},
	[DRAIN_INSERT_NS] = {.name = PREFIX "insert_seconds_total",
			     .help = "Time spent in inserts",
			     .scale = 1e-9},
};
METRIC_TABLE(metric_table, metric_defs);

/* ---- the thread ---- */

/* Waits until it is time since the last insert began, or until the log has a backlog. */
static void keep_pace(struct log_drain *d, uint64_t last_ns)
{
	unsigned factor = d->last_uploads >= BUSY_UPLOADS ? BUSY_FACTOR : 1;
	uint64_t until_ns = last_ns + factor * d->cfg.pace_ns;

	while (!drain_is_stopping(d) && clock_monotonic_ns() < until_ns) {
		struct upload_log_state state;

		upload_log_state(d->cfg.log, &state);
		if (state.n_bytes >= d->cfg.backlog_bytes)
			break;
		worker_thread_wait(d->self, PACE_STEP_NS);
	}
}

static void run(void *ctx, struct worker_thread *t)
{
	struct log_drain *d = ctx;
	uint64_t last_ns = 0;

	d->self = t;
	while (!drain_is_over(d)) {
		struct log_segment *s;

		if (last_ns > 0)
			keep_pace(d, last_ns);
		s = upload_log_next(d->cfg.log, drain_is_stopping(d) ? 0 : WAIT_FOR_SEGMENT_NS);
		if (!s && drain_is_stopping(d))
			break;
		if (!s)
			continue;
		last_ns = clock_monotonic_ns();
		if (drain_segment(d, s) < 0)
			break;
	}
}

int log_drain_new(struct log_drain **ret, const struct log_drain_config *cfg)
{
	CLEANUP(log_drain_freep) struct log_drain *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->cfg = *cfg;
	if (d->cfg.pace_ns == 0)
		d->cfg.pace_ns = DEFAULT_PACE_NS;
	if (d->cfg.retry_min_ns == 0)
		d->cfg.retry_min_ns = DEFAULT_RETRY_MIN_NS;
	if (d->cfg.retry_max_ns == 0)
		d->cfg.retry_max_ns = DEFAULT_RETRY_MAX_NS;
	if (d->cfg.claim_wait_ns == 0)
		d->cfg.claim_wait_ns = DEFAULT_CLAIM_WAIT_NS;
	if (d->cfg.backlog_bytes == 0)
		d->cfg.backlog_bytes = DEFAULT_BACKLOG_BYTES;
	d->backoff = (struct backoff){.min_ns = d->cfg.retry_min_ns,
				      .max_ns = d->cfg.retry_max_ns,
				      .random = clock_monotonic_ns()};
	atomic_init(&d->give_up_at_ns, UINT64_MAX);
	pthread_mutex_init(&d->lock, NULL);
	r = worker_thread_start(&d->thread, &(struct worker_thread_config){
						    .name = "log-drain", .run = run, .ctx = d});
	if (r < 0)
		return r;
	*ret = TAKE_PTR(d);
	return 0;
}

void log_drain_stop(struct log_drain *d, uint64_t timeout_ns)
{
	if (!d || !d->thread)
		return;
	atomic_store(&d->give_up_at_ns, clock_monotonic_ns() + timeout_ns);
	if (worker_thread_join(d->thread, timeout_ns > END_NS ? timeout_ns - END_NS : 0) < 0) {
		store_stop_inserts(d->cfg.store);
		(void)worker_thread_join(d->thread, UINT64_MAX);
	}
	d->thread = NULL;
}

void log_drain_free(struct log_drain *d)
{
	if (!d)
		return;
	log_drain_stop(d, 0);
	drain_forget_postponed(d);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

int log_drain_register(struct log_drain *d, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, d->metrics, d);
}

void log_drain_state(struct log_drain *d, struct log_drain_state *ret)
{
	pthread_mutex_lock(&d->lock);
	*ret = (struct log_drain_state){.failing = d->failing, .error = d->error};
	if (d->failing)
		ret->failing_ns = clock_monotonic_ns() - d->failing_at;
	pthread_mutex_unlock(&d->lock);
}
