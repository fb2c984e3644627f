#include "node-agent/heap/heap_worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/queue.h"
#include "node-agent/heap/go_processes.h"
#include "node-agent/heap/heap_reader.h"

#define MAX_RESULTS 4096
#define WORKER_NICE 5
#define FORCED_WAIT_NS (1 * NS_PER_S) /* each processor counts one sample too much at the switch */
#define SCANS_PER_INTERVAL 4
#define SCAN_MIN_NS (1 * NS_PER_S)
#define SCAN_MAX_NS (15 * NS_PER_S)
#define PREFIX "coroot_node_agent_go_heap"

enum heap_metric {
	PROCESSES,
	PROFILES,
	BUCKETS,
	TORN,
	BACKWARDS,
	OFF,
	FORCED,
	RESTORED,
	CPU_NS,
	/* rounds without a profile, by reason */
	GONE,
	DENIED,
	UNKNOWN,
	CORRUPT,
	LIMIT_BUCKETS,
	LIMIT_BYTES,
	LIMIT_TIME,
	LIMIT_PROFILE,
	HUNG,
	NO_MEMORY,
	QUEUE_FULL,
	UNREADABLE,
	HEAP_METRIC_MAX,
};

#define FAILED(reason)                                          \
	PREFIX "_rounds_failed_total", "reason=\"" reason "\"", \
		"Readings of a Go process that gave no profile"

static const struct metric metric_defs[HEAP_METRIC_MAX] = {
	[PROCESSES] = {PREFIX "_processes", NULL, "Go processes known now", METRIC_GAUGE},
	[PROFILES] = {PREFIX "_profiles_total", NULL, "Heap profiles made"},
	[BUCKETS] = {PREFIX "_records_total", NULL,
		     "Records of Go's memory profiler that were read"},
	[TORN] = {PREFIX "_records_torn_total", NULL,
		  "Of these, left out: their counters contradicted each other"},
	[BACKWARDS] = {PREFIX "_records_backwards_total", NULL,
		       "Of these, with less than the last time: taken as nothing new"},
	[OFF] = {PREFIX "_off_total", NULL,
		 "Readings of Go processes whose memory profiler is off"},
	[FORCED] = {PREFIX "_forced_total", NULL,
		    "Go processes whose memory profiler was switched on"},
	[RESTORED] = {PREFIX "_restored_total", NULL,
		      "Of these, switched off again when the agent ended"},
	[CPU_NS] = {PREFIX "_cpu_seconds_total", NULL, "CPU time spent on heap profiles",
		    .scale = 1e-9},
	[GONE] = {FAILED("gone")},
	[DENIED] = {FAILED("denied")},
	[UNKNOWN] = {FAILED("unknown_layout")},
	[CORRUPT] = {FAILED("corrupt_list")},
	[LIMIT_BUCKETS] = {FAILED("limit_records")},
	[LIMIT_BYTES] = {FAILED("limit_bytes")},
	[LIMIT_TIME] = {FAILED("limit_time")},
	[LIMIT_PROFILE] = {FAILED("limit_profile")},
	[HUNG] = {FAILED("hung")},
	[NO_MEMORY] = {FAILED("no_memory")},
	[QUEUE_FULL] = {FAILED("queue_full")},
	[UNREADABLE] = {FAILED("unreadable")},
};

static const struct {
	int error;
	enum heap_metric metric;
} reasons[] = {
	{-ESRCH, GONE},       {-ENODATA, GONE},          {-EACCES, DENIED},
	{-EPERM, DENIED},     {-ENOENT, UNKNOWN},        {-ENOTSUP, UNKNOWN},
	{-ENOEXEC, UNKNOWN},  {-EBADMSG, CORRUPT},       {-ELOOP, CORRUPT},
	{-ESTALE, CORRUPT},   {-E2BIG, LIMIT_BUCKETS},   {-EFBIG, LIMIT_BYTES},
	{-ETIME, LIMIT_TIME}, {-ENOBUFS, LIMIT_PROFILE}, {-ETIMEDOUT, HUNG},
	{-EBUSY, HUNG},       {-ENOMEM, NO_MEMORY},      {-EAGAIN, QUEUE_FULL},
};

struct result {
	char *service;
	struct buf pprof;
};

struct heap_worker {
	struct heap_worker_config cfg;
	struct heap_reader *reader; /* these are the thread's, once it runs */
	struct go_processes *processes;
	uint64_t next_scan_ns;
	struct queue *stop;    /* empty; closing it wakes the thread */
	struct queue *results; /* struct result */
	struct loop_source *wake;
	atomic_bool stopping;
	pthread_t thread;
	bool started;
	struct metric metrics[HEAP_METRIC_MAX];
};

static void result_free(struct result *r)
{
	if (!r)
		return;
	buf_fini(&r->pprof);
	free(r->service);
	free(r);
}
DEFINE_CLEANUP(struct result *, result_free);

/* ---- one process ---- */

/* -EAGAIN: the loop does not take them fast enough. */
static int pass_on(struct heap_worker *w, struct result *r, const char *service)
{
	int e;

	r->service = strdup(service);
	if (!r->service)
		return -ENOMEM;
	e = queue_push(w->results, r);
	if (e < 0)
		return -EAGAIN;
	metric_add(&w->metrics[PROFILES], 1);
	loop_wake(w->wake);
	return 0;
}

static int read_process(struct heap_worker *w, struct go_process *g, uint64_t now_ns)
{
	CLEANUP(result_freep) struct result *made = calloc(1, sizeof(*made));
	struct heap_reading reading;
	int r;

	if (!made)
		return -ENOMEM;
	buf_init(&made->pprof, LIMIT_UPLOAD_BYTES);
	r = heap_reader_read(w->reader, &g->id, g->history, (int64_t)(now_ns - g->told_ns),
			     &made->pprof, &reading);
	metric_add(&w->metrics[BUCKETS], reading.round.n_buckets);
	metric_add(&w->metrics[TORN], reading.round.n_torn);
	metric_add(&w->metrics[BACKWARDS], reading.round.n_backwards);
	metric_add(&w->metrics[OFF], reading.off);
	if (r < 0)
		return r;
	g->told_ns = now_ns;
	g->is_ours = reading.is_ours;
	if (reading.forced) {
		metric_add(&w->metrics[FORCED], 1);
		return go_processes_restart(w->processes, g, now_ns + FORCED_WAIT_NS);
	}
	if (reading.n_samples == 0)
		return 0;
	r = pass_on(w, made, reading.service);
	if (r == 0)
		(void)TAKE_PTR(made);
	return r;
}

static void count_failure(struct heap_worker *w, int error)
{
	enum heap_metric metric = UNREADABLE;

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].error == error)
			metric = reasons[i].metric;
	}
	metric_add(&w->metrics[metric], 1);
}

static void do_process(struct heap_worker *w, struct go_process *g)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = read_process(w, g, now_ns);

	if (r < 0)
		count_failure(w, r);
	if (r < 0 && g->n_failures == 0 && r != -ESRCH && r != -ENODATA)
		log_debug("no heap profile of a Go process", "pid=%d error=\"%s\"", (int)g->id.pid,
			  strerror(-r));
	/* -ENODATA is also what memory gives when the process has executed something else */
	if (r == -ESRCH || r == -ENODATA)
		go_processes_remove(w->processes, g);
	else if (r < 0 || g->due_ns <= now_ns)
		go_processes_done(w->processes, g, now_ns, r < 0);
}

/* ---- the thread ---- */

static uint64_t scan_period_ns(const struct heap_worker *w)
{
	uint64_t ns = w->cfg.interval_ns / SCANS_PER_INTERVAL;

	return ns < SCAN_MIN_NS ? SCAN_MIN_NS : ns > SCAN_MAX_NS ? SCAN_MAX_NS : ns;
}

static int detect(void *ctx, const struct go_process_id *id)
{
	struct heap_worker *w = ctx;

	return heap_reader_detect(w->reader, id);
}

/* Does what is due, and says for how long nothing will be. */
static uint64_t turn(struct heap_worker *w)
{
	uint64_t now_ns = clock_monotonic_ns(), next_ns;
	struct go_process *g;

	if (now_ns >= w->next_scan_ns) {
		int r = go_processes_scan(w->processes, now_ns);

		if (r < 0)
			log_warn_limited("cannot look for Go processes", "error=\"%s\"",
					 strerror(-r));
		w->next_scan_ns = now_ns + scan_period_ns(w);
	}
	g = go_processes_next(w->processes);
	if (g && g->due_ns <= now_ns) {
		do_process(w, g);
		g = go_processes_next(w->processes);
	}
	metric_set(&w->metrics[PROCESSES], go_processes_count(w->processes));
	next_ns = g && g->due_ns < w->next_scan_ns ? g->due_ns : w->next_scan_ns;
	now_ns = clock_monotonic_ns();
	return next_ns > now_ns ? next_ns - now_ns : 0;
}

/* What this and earlier agents have switched on. */
static void restore(struct heap_worker *w)
{
	for (struct go_process *g = go_processes_each(w->processes, NULL); g;
	     g = go_processes_each(w->processes, g)) {
		int r = g->is_ours ? heap_reader_restore(w->reader, &g->id) : 0;

		if (r < 0 && r != -ESRCH && r != -ENODATA)
			log_warn_limited("cannot switch a memory profiler off again",
					 "pid=%d error=\"%s\"", (int)g->id.pid, strerror(-r));
		metric_add(&w->metrics[RESTORED], r > 0);
	}
}

static void *run(void *arg)
{
	struct heap_worker *w = arg;
	uint64_t told_ns = 0;

	/* a thread of its own has a nice value of its own; sampling goes first */
	(void)setpriority(PRIO_PROCESS, 0, WORKER_NICE);
	while (!atomic_load(&w->stopping)) {
		uint64_t wait_ns = turn(w);
		uint64_t cpu_ns = clock_thread_cpu_ns();

		metric_add(&w->metrics[CPU_NS], cpu_ns - told_ns);
		told_ns = cpu_ns;
		(void)queue_pop_timeout(w->stop, wait_ns);
	}
	if (w->cfg.force && w->cfg.restore)
		restore(w);
	return NULL;
}

/* On the loop thread. */
static void on_wake(void *ctx)
{
	struct heap_worker *w = ctx;
	struct result *r;

	while ((r = queue_pop_timeout(w->results, 0))) {
		const struct heap_upload u = {r->service, r->service, &r->pprof};

		w->cfg.on_profile(w->cfg.ctx, &u);
		result_free(r);
	}
}

/* ---- life ---- */

static int make_reader(struct heap_worker *w, struct err *err)
{
	const struct heap_reader_config reader = {w->cfg.proc_root, w->cfg.raw, w->cfg.force};
	int r = heap_reader_new(&w->reader, &reader);

	if (r < 0)
		return err_set(err, r, "open %s: %s", w->cfg.proc_root ? w->cfg.proc_root : "/proc",
			       strerror(-r));

	const struct go_processes_config processes = {
		.root_fd = heap_reader_root(w->reader),
		.interval_ns = w->cfg.interval_ns,
		.max_buckets = HEAP_READER_MAX_BUCKETS,
		.detect = detect,
		.ctx = w,
	};
	return go_processes_new(&w->processes, &processes);
}

int heap_worker_new(struct heap_worker **ret, struct loop *l, struct metrics *ms,
		    const struct heap_worker_config *cfg, struct err *err)
{
	CLEANUP(heap_worker_freep) struct heap_worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->cfg = *cfg;
	atomic_init(&w->stopping, false);
	memcpy(w->metrics, metric_defs, sizeof(w->metrics));
	r = make_reader(w, err);
	if (r == 0)
		r = queue_new(&w->stop, 1);
	if (r == 0)
		r = queue_new(&w->results, MAX_RESULTS);
	if (r == 0)
		r = loop_add_wake(l, on_wake, w, &w->wake);
	if (r == 0)
		r = metrics_register(ms, w->metrics, HEAP_METRIC_MAX);
	if (r < 0)
		return r;

	r = pthread_create(&w->thread, NULL, run, w);
	if (r != 0)
		return -r;
	w->started = true;
	(void)pthread_setname_np(w->thread, "go-heap");
	*ret = TAKE_PTR(w);
	return 0;
}

void heap_worker_free(struct heap_worker *w)
{
	struct result *r;

	if (!w)
		return;
	if (w->started) {
		atomic_store(&w->stopping, true);
		queue_close(w->stop);
		pthread_join(w->thread, NULL);
	}
	while (w->results && (r = queue_pop_timeout(w->results, 0)))
		result_free(r);
	loop_remove(w->wake);
	queue_free(w->stop);
	queue_free(w->results);
	go_processes_free(w->processes);
	heap_reader_free(w->reader);
	free(w);
}
