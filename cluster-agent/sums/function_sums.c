/*
 * Why not a materialized view: it would see the samples of one insert without their frames, and
 * would have to join every sample with profiling_stacks while uploads wait. Why not sums by hour
 * that are added up: the functions beyond the largest would be cut 24 times instead of once.
 *
 * Services are summed in batches of so many samples that the engine needs tens of MiB for one. A
 * batch for which that was too little is divided; a service that is too large by itself is left out
 * and counted. All rows of a batch are one insert, so that a service is summed wholly or as before.
 *
 * The thread sleeps after each batch for as long as that took, and after a pass for at least 20
 * times as long as the pass took: of one core it uses 5 percent, or half while it catches up.
 */
#include "cluster-agent/sums/function_sums.h"

#include <errno.h>

#include "cluster-agent/store/row_insert.h"
#include "cluster-agent/store/store.h"
#include "cluster-agent/sums/sum_query.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "common/thread/worker_thread.h"

#define FIRST_NS (10 * NS_PER_S) /* after the start of the agent */
#define INTERVAL_NS (900 * NS_PER_S)
#define RETRY_NS (60 * NS_PER_S)
#define IDLE_PER_BUSY 20u
#define MAX_PAUSE_NS (10 * NS_PER_S)
#define DAY_NS (INT64_C(86400) * (int64_t)NS_PER_S)
/* Uploads that were kept on a node while nothing could be sent are stored by then. */
#define SETTLE_NS (INT64_C(6) * 3600 * (int64_t)NS_PER_S)
#define MAX_DAYS 366
#define MAX_LEFT_OUT 64u
#define BATCH_SERVICES 50u
#define BATCH_SAMPLES UINT64_C(2000000)
#define MAX_BATCH_BYTES ((size_t)56 << 20)

enum {
	SERVICES,
	ROWS,
	LEFT_OUT,
	CUT,
	FAILED,
	SECONDS,
	WAITING,
	LAST_PASS,
	N_METRICS,
};

#define NAME(name) "coroot_cluster_agent_function_sums_" name

static const struct metric_def metric_defs[N_METRICS] = {
	[SERVICES] = {NAME("services_total"), NULL,
		      "Applications of which a day was summed by function"},
	[ROWS] = {NAME("rows_total"), NULL, "Rows that were written for these"},
	[LEFT_OUT] =
		{NAME("left_out_total"), NULL,
		 "Applications of which a day could not be summed, however often it was tried"},
	[CUT] = {NAME("cut_total"), NULL,
		 "Applications with so many types and versions that sums of small ones are "
		 "missing"},
	[FAILED] = {NAME("failed_passes_total"), NULL,
		    "Passes over the days that ended early and are repeated"},
	[SECONDS] = {.name = NAME("seconds_total"), .help = "Time that passes took", .scale = 1e-9},
	[WAITING] = {NAME("days_waiting"), NULL, "Days that are not summed yet", METRIC_GAUGE},
	[LAST_PASS] = {.name = NAME("last_pass_timestamp_seconds"),
		       .help = "When the last complete pass began, since the epoch",
		       .kind = METRIC_GAUGE,
		       .scale = 1e-9},
};
METRIC_TABLE(metric_table, metric_defs);

struct function_sums {
	struct store *store;
	uint64_t ttl_ns;
	uint64_t start_ns;            /* of the thread, by clock_monotonic_ns() */
	uint64_t wait_ns;             /* between two passes */
	uint64_t seed;                /* decides the order of services */
	struct worker_thread *thread; /* NULL: not running */
	struct worker_thread *self;   /* the same, as the thread knows it */
	int64_t done[MAX_DAYS];       /* by number modulo MAX_DAYS: days that are finished */
	struct sum_services list;
	char *left_out[MAX_LEFT_OUT]; /* of the day that is being summed */
	size_t n_left_out;
	struct metric metrics[N_METRICS];
};

static bool must_end(struct function_sums *s)
{
	return s->self && worker_thread_must_end(s->self);
}

static void forget_left_out(struct function_sums *s)
{
	while (s->n_left_out > 0)
		free(s->left_out[--s->n_left_out]);
}

/* ---- a batch ---- */

static void sum_rows_fini(struct sum_rows *rows)
{
	buf_fini(&rows->bytes);
}

/* Returns 0, 1 if the services have more rows than fit, or an error. */
static int sum_batch(struct function_sums *s, const struct sum_day *day,
		     const struct sum_service *services, size_t n, struct err *err)
{
	CLEANUP(sum_rows_fini) struct sum_rows rows = {0};
	int r;

	buf_init(&rows.bytes, MAX_BATCH_BYTES);
	r = sum_query_rows(day, services, n, &rows, err);
	if (r == 0 && rows.is_cut && n > 1)
		return 1;
	if (r == 0 && rows.n_rows > 0)
		r = row_insert(s->store, STORE_FUNCTIONS, &rows.bytes, rows.n_rows, err);
	if (r < 0)
		return r;
	metric_add(&s->metrics[SERVICES], n);
	metric_add(&s->metrics[ROWS], rows.n_rows);
	metric_add(&s->metrics[CUT], rows.is_cut);
	return 0;
}

static int leave_out(struct function_sums *s, const struct sum_service *service,
		     const struct err *why, struct err *err)
{
	char *name;

	if (s->n_left_out == MAX_LEFT_OUT)
		return err_set(err, -EIO, "%u applications of a day cannot be summed, the last: %s",
			       MAX_LEFT_OUT, why->msg);
	name = strdup(service->name);
	if (!name)
		return -ENOMEM;
	s->left_out[s->n_left_out++] = name;
	metric_add(&s->metrics[LEFT_OUT], 1);
	log_warn_limited("the functions of an application cannot be summed", "service=%s reason=%s",
			 LOG_QUOTED(service->name), LOG_QUOTED(why->msg));
	return 0;
}

/* Whether fewer services may succeed, or one of them is at fault. */
static bool is_too_much(int r)
{
	return r == 1 || r == -EFBIG || r == -ENOMEM || r == -EREMOTEIO || r == -EBADMSG;
}

static void pause_after(struct function_sums *s, uint64_t busy_ns)
{
	if (s->self)
		worker_thread_wait(s->self, busy_ns < MAX_PAUSE_NS ? busy_ns : MAX_PAUSE_NS);
}

/* Sums the services in one batch, or in halves if the engine has too little memory for it. */
static int sum_services(struct function_sums *s, const struct sum_day *day,
			const struct sum_service *services, size_t n, struct err *err)
{
	size_t n_batch = n;

	for (size_t at = 0; at < n;) {
		size_t n_now = n - at < n_batch ? n - at : n_batch;
		uint64_t start_ns = clock_monotonic_ns();
		struct err why = {0};
		int r = sum_batch(s, day, services + at, n_now, &why);

		if (is_too_much(r) && n_now > 1) {
			n_batch = n_now / 2;
			continue;
		}
		if (is_too_much(r))
			r = leave_out(s, services + at, &why, err);
		else if (r < 0)
			*err = why;
		if (r < 0)
			return r;
		at += n_now;
		if (must_end(s))
			return err_set(err, -EPIPE, "shutting down");
		pause_after(s, clock_monotonic_ns() - start_ns);
	}
	return 0;
}

static size_t batch_of(const struct sum_service *services, size_t n)
{
	uint64_t n_samples = 0;
	size_t i = 0;

	for (; i < n && i < BATCH_SERVICES; i++) {
		n_samples += services[i].n_samples;
		if (i > 0 && n_samples > BATCH_SAMPLES)
			break;
	}
	return i;
}

/* ---- days ---- */

static int sum_list(struct function_sums *s, const struct sum_day *day, struct err *err)
{
	const struct sum_services *l = &s->list;
	int r = 0;

	for (size_t at = 0, n; at < l->n_items && r == 0; at += n) {
		n = batch_of(l->items + at, l->n_items - at);
		r = sum_services(s, day, l->items + at, n, err);
	}
	return r;
}

static int sum_day(struct function_sums *s, struct sum_day *day, struct err *err)
{
	int r;

	forget_left_out(s);
	do {
		arena_fini(&s->list.arena);
		day->skip = (const char *const *)s->left_out;
		day->n_skip = s->n_left_out;
		r = sum_query_services(day, &s->list, err);
		if (r == 0)
			r = sum_list(s, day, err);
		/* others may have summed those after it meanwhile */
	} while (r == 0 && s->list.n_items == SUM_QUERY_MAX_SERVICES);
	return r;
}

static int days_to_keep(const struct function_sums *s)
{
	uint64_t n = s->ttl_ns / (uint64_t)DAY_NS + 1;

	return n < MAX_DAYS ? (int)n : MAX_DAYS;
}

static bool is_done(const struct function_sums *s, int64_t day)
{
	return day >= 0 && s->done[day % MAX_DAYS] == day;
}

static void count_waiting(struct function_sums *s, int64_t today)
{
	uint64_t n = 0;

	for (int i = 1; i < days_to_keep(s); i++)
		n += !is_done(s, today - i);
	metric_set(&s->metrics[WAITING], n);
}

static int sum_days(struct function_sums *s, int64_t now_ns, struct err *err)
{
	int64_t today = now_ns / DAY_NS;
	int r = 0;

	for (int i = 0; i < days_to_keep(s) && r == 0 && today >= i; i++) {
		int64_t number = today - i, settled_ns = (number + 1) * DAY_NS + SETTLE_NS;
		bool is_young = now_ns < settled_ns;
		struct sum_day day = {
			.store = s->store,
			.seed = s->seed,
			.start_ns = number * DAY_NS,
			.now_ns = now_ns,
			.fresh_ns = is_young ? now_ns - (int64_t)s->wait_ns / 2 : settled_ns,
		};

		if (is_done(s, number))
			continue;
		r = sum_day(s, &day, err);
		if (r == 0 && !is_young)
			s->done[number % MAX_DAYS] = number;
		count_waiting(s, today);
	}
	return r;
}

int function_sums_pass(struct function_sums *s, int64_t now_ns, struct err *err)
{
	uint64_t start_ns = clock_monotonic_ns();
	int r = sum_days(s, now_ns, err);

	metric_add(&s->metrics[SECONDS], clock_monotonic_ns() - start_ns);
	if (r == 0)
		metric_set(&s->metrics[LAST_PASS], (uint64_t)now_ns);
	else if (r != -EPIPE)
		metric_add(&s->metrics[FAILED], 1);
	return r;
}

/* ---- the thread ---- */

/*
 * Until there is anything to sum, and in the first interval, it is looked for more often: the store
 * may be new, and somebody waits to see what is there.
 */
static uint64_t wait_after(struct function_sums *s, int r, uint64_t busy_ns)
{
	bool is_empty = metric_get(&s->metrics[SERVICES]) == 0;
	bool is_young = clock_monotonic_ns() - s->start_ns < INTERVAL_NS;
	uint64_t least_ns = r < 0 || is_empty || is_young ? RETRY_NS : INTERVAL_NS;
	uint64_t wait_ns = IDLE_PER_BUSY * busy_ns;

	wait_ns = wait_ns > least_ns ? wait_ns : least_ns;
	if (r == 0 && !is_empty)
		s->wait_ns = wait_ns;
	return wait_ns;
}

static void run(void *ctx, struct worker_thread *t)
{
	struct function_sums *s = ctx;

	s->self = t;
	s->start_ns = clock_monotonic_ns();
	worker_thread_wait(t, FIRST_NS);
	while (!worker_thread_must_end(t)) {
		uint64_t start_ns = clock_monotonic_ns();
		struct err err = {0};
		int r = function_sums_pass(s, (int64_t)clock_realtime_ns(), &err);

		/* that a server does not answer is the store's to report */
		if (r < 0 && r != -EAGAIN && r != -EPIPE)
			log_warn_limited("summing functions failed, retrying", "reason=%s",
					 LOG_QUOTED(err.msg[0] ? err.msg : strerror(-r)));
		worker_thread_wait(t, wait_after(s, r, clock_monotonic_ns() - start_ns));
	}
}

int function_sums_new(struct function_sums **ret, const struct function_sums_config *cfg)
{
	struct function_sums *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->store = cfg->store;
	s->ttl_ns = cfg->ttl_ns;
	s->wait_ns = INTERVAL_NS;
	s->seed = clock_realtime_ns();
	arena_init(&s->list.arena, (size_t)4 << 20);
	memset(s->done, 0xff, sizeof(s->done));
	*ret = s;
	return 0;
}

int function_sums_register(struct function_sums *s, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, s->metrics, NULL);
}

int function_sums_start(struct function_sums *s)
{
	const struct worker_thread_config cfg = {.name = "function-sums", .run = run, .ctx = s};

	return worker_thread_start(&s->thread, &cfg);
}

void function_sums_stop(struct function_sums *s)
{
	if (!s || !s->thread)
		return;
	worker_thread_join(s->thread, UINT64_MAX);
	s->thread = NULL;
}

void function_sums_free(struct function_sums *s)
{
	if (!s)
		return;
	function_sums_stop(s);
	forget_left_out(s);
	arena_fini(&s->list.arena);
	free(s);
}
