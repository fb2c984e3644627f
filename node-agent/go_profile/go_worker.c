#include "node-agent/go_profile/go_worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/queue.h"
#include "node-agent/go/go_reader.h"
#include "node-agent/go_profile/go_counters.h"
#include "node-agent/go_profile/go_locks.h"
#include "node-agent/go_profile/go_metrics.h"
#include "node-agent/go_profile/go_processes.h"
#include "node-agent/heap/heap_force.h"

#define MAX_RESULTS 4096
#define WORKER_NICE 5
#define FORCED_WAIT_NS (1 * NS_PER_S) /* each processor counts one sample too much at the switch */
#define SCANS_PER_INTERVAL 4
#define SCAN_MIN_NS (1 * NS_PER_S)
#define SCAN_MAX_NS (15 * NS_PER_S)

struct result {
	char *service;
	struct buf pprof;
};

struct go_worker {
	struct go_worker_config cfg;
	struct go_reader *reader; /* these are the thread's, once it runs */
	struct go_processes *processes;
	struct go_locks locks;
	struct go_counters *counters;
	uint64_t next_scan_ns;
	struct queue *stop;    /* empty; closing it wakes the thread */
	struct queue *results; /* struct result */
	struct loop_source *wake;
	atomic_bool stopping;
	pthread_t thread;
	bool denied; /* the last scan was not allowed to see all processes */
	bool started;
	struct metric metrics[GO_METRIC_MAX];
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

/* Takes the content of pprof. -EAGAIN: the loop does not take profiles fast enough. */
static int pass_on(struct go_worker *w, const struct go_opened *o, struct buf *pprof,
		   enum go_metric made_metric)
{
	CLEANUP(result_freep) struct result *made = calloc(1, sizeof(*made));
	char service[WORKLOAD_NAME_BYTES];
	int r;

	if (!made)
		return -ENOMEM;
	made->pprof = *pprof;
	buf_init(pprof, LIMIT_UPLOAD_BYTES);
	r = go_target_service(&o->target, service);
	if (r < 0)
		return r;
	made->service = strdup(service);
	if (!made->service)
		return -ENOMEM;
	if (queue_push(w->results, made) < 0)
		return -EAGAIN;
	(void)TAKE_PTR(made);
	metric_add(&w->metrics[made_metric], 1);
	loop_wake(w->wake);
	return 0;
}

static void count_failure(struct go_worker *w, int error)
{
	metric_add(&w->metrics[go_metrics_reason(error)], 1);
}

static int read_heap(struct go_worker *w, struct go_process *g, struct go_opened *o,
		     uint64_t now_ns)
{
	const struct heap_subject subject = {&g->id, g->heap, (int64_t)(now_ns - g->told_ns)};
	CLEANUP(buf_fini) struct buf pprof;
	struct heap_reading reading;
	int r;

	buf_init(&pprof, LIMIT_UPLOAD_BYTES);
	if (!w->cfg.heap)
		return 0;
	r = heap_reader_read(o->runtime, &subject, &w->cfg.heap_reader, &pprof, &reading);
	metric_add(&w->metrics[GO_METRIC_BUCKETS], reading.round.n_buckets);
	metric_add(&w->metrics[GO_METRIC_TORN], reading.round.n_torn);
	metric_add(&w->metrics[GO_METRIC_BACKWARDS], reading.n_backwards);
	metric_add(&w->metrics[GO_METRIC_OFF], reading.off);
	if (r < 0)
		return r;
	g->told_ns = now_ns;
	g->is_ours = reading.is_ours;
	if (reading.forced) {
		metric_add(&w->metrics[GO_METRIC_FORCED], 1);
		return go_processes_restart(g, now_ns + FORCED_WAIT_NS);
	}
	r = go_counters_add_heap(w->counters, g, o, &reading);
	if (r < 0)
		return r;
	return reading.n_samples == 0 ? 0 : pass_on(w, o, &pprof, GO_METRIC_HEAP_PROFILES);
}

static void count_goroutines(struct go_worker *w, const struct goroutine_reading *reading)
{
	metric_add(&w->metrics[GO_METRIC_GOROUTINES], reading->n_goroutines);
	metric_add(&w->metrics[GO_METRIC_GOROUTINES_RUNNING], reading->n_running);
	metric_add(&w->metrics[GO_METRIC_GOROUTINES_MOVED], reading->n_moved);
	metric_add(&w->metrics[GO_METRIC_GOROUTINES_LIMITED], reading->n_limited);
	metric_add(&w->metrics[GO_METRIC_GOROUTINES_UNREADABLE], reading->n_unreadable);
	metric_add(&w->metrics[GO_METRIC_GOROUTINES_BROKEN], reading->n_broken);
	metric_add(&w->metrics[GO_METRIC_GOROUTINES_CUT], reading->n_cut);
}

/* What is soon said, and will be again, does not make the process one that is read less often. */
static bool is_unknown(int error)
{
	return error == -ENOTSUP || error == -ENOENT || error == -EBADMSG || error == -E2BIG;
}

static int read_goroutines(struct go_worker *w, struct go_process *g, struct go_opened *o,
			   uint64_t now_ns)
{
	CLEANUP(buf_fini) struct buf pprof;
	struct goroutine_reading reading;
	int r;

	(void)now_ns;
	buf_init(&pprof, LIMIT_UPLOAD_BYTES);
	if (!w->cfg.goroutines)
		return 0;
	r = goroutine_reader_read(o->runtime, &w->cfg.goroutine_reader, &pprof, &reading);
	if (r < 0) {
		r = go_target_reason(&o->target, &g->id, r);
		if (!is_unknown(r))
			return r;
		count_failure(w, r);
		return 0;
	}
	count_goroutines(w, &reading);
	return reading.n_samples == 0 ? 0 : pass_on(w, o, &pprof, GO_METRIC_GOROUTINE_PROFILES);
}

/* A profiler that cannot be read or switched does not make its process one that cannot be read. */
static int read_lock(struct go_worker *w, enum lock_kind kind, struct go_process *g,
		     struct go_opened *o, uint64_t now_ns)
{
	CLEANUP(buf_fini) struct buf pprof;
	enum go_metric made =
		kind == LOCK_MUTEX ? GO_METRIC_MUTEX_PROFILES : GO_METRIC_BLOCK_PROFILES;
	int r;

	buf_init(&pprof, LIMIT_UPLOAD_BYTES);
	r = go_locks_read(&w->locks, kind, g, o, now_ns, &pprof);
	if (r < 0) {
		r = go_target_reason(&o->target, &g->id, r);
		if (r == -ESRCH)
			return r;
		count_failure(w, r);
	}
	return pprof.len == 0 ? 0 : pass_on(w, o, &pprof, made);
}

static int read_mutex(struct go_worker *w, struct go_process *g, struct go_opened *o,
		      uint64_t now_ns)
{
	return read_lock(w, LOCK_MUTEX, g, o, now_ns);
}

static int read_block(struct go_worker *w, struct go_process *g, struct go_opened *o,
		      uint64_t now_ns)
{
	return read_lock(w, LOCK_BLOCK, g, o, now_ns);
}

static int read_counters(struct go_worker *w, struct go_process *g, struct go_opened *o,
			 uint64_t now_ns)
{
	(void)now_ns;
	return go_counters_read(w->counters, g, o);
}

/* What is read of a process in each of its turns; one that fails does not keep the others from it. */
static int (*const readers[])(struct go_worker *w, struct go_process *g, struct go_opened *o,
			      uint64_t now_ns) = {
	read_heap, read_goroutines, read_mutex, read_block, read_counters,
};

/* It may have executed the same file anew: what was known is not of this process then. */
static int check_image(struct go_process *g, const struct go_opened *o)
{
	bool is_new = g->image != 0 && g->image != o->target.image;

	g->image = o->target.image;
	if (is_new && g->share)
		go_share_restart(g->share);
	return is_new ? go_processes_renew(g, BUCKET_HISTORY_FROM_ZERO) : 0;
}

/* Many processes with many records each are too much together. */
static int check_bytes(struct go_worker *w, struct go_process *g)
{
	if (go_processes_bytes(w->processes) <= w->cfg.history_max_bytes)
		return 0;
	return go_processes_renew(g, BUCKET_HISTORY_FROM_NOW) < 0 ? -ENOMEM : -E2BIG;
}

/* The first error. */
static int read_process(struct go_worker *w, struct go_process *g, uint64_t now_ns)
{
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	int first = 0;
	int r = go_reader_open(w->reader, &g->id, &o);

	if (r == 0)
		r = check_image(g, o);
	if (r < 0) {
		count_failure(w, r);
		return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		int over;

		r = readers[i](w, g, o, now_ns);
		over = check_bytes(w, g);
		r = r < 0 ? go_target_reason(&o->target, &g->id, r) : over;
		if (r < 0)
			count_failure(w, r);
		if (r == -ESRCH)
			return r;
		if (first == 0)
			first = r;
	}
	return first;
}

/* Its block profiler has been on for long enough. What cannot be ended now is tried again in its next turn. */
static int end_burst(struct go_worker *w, struct go_process *g, uint64_t now_ns)
{
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	int r = go_reader_open(w->reader, &g->id, &o);

	if (r == 0)
		r = check_image(g, o);
	if (r == 0)
		r = g->burst_end_ns != 0 ? read_block(w, g, o, now_ns) : 0;
	else
		count_failure(w, r);
	g->burst_end_ns = 0;
	if (g->locks[LOCK_BLOCK].is_ours && r != -ESRCH)
		log_warn_limited("cannot switch a block profiler off again", "pid=%d error=\"%s\"",
				 (int)g->id.pid, strerror(-r));
	return r;
}

static bool is_burst_end(const struct go_process *g)
{
	return g->burst_end_ns != 0 && g->burst_end_ns <= g->due_ns;
}

static void do_process(struct go_worker *w, struct go_process *g)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool is_turn = !is_burst_end(g);
	int r = is_turn ? read_process(w, g, now_ns) : end_burst(w, g, now_ns);

	if (r == -ESRCH) {
		go_processes_remove(w->processes, g);
		return;
	}
	if (!is_turn)
		return;
	if ((r == -EACCES || r == -EPERM) && g->n_failures == 0)
		log_warn_limited("a Go process may not be read", "pid=%d error=\"%s\"",
				 (int)g->id.pid, strerror(-r));
	else if (r < 0 && g->n_failures == 0)
		log_debug("a Go process cannot be read", "pid=%d error=\"%s\"", (int)g->id.pid,
			  strerror(-r));
	if (r < 0 || g->due_ns <= now_ns)
		go_processes_done(w->processes, g, now_ns, r < 0);
}

/* ---- the thread ---- */

static uint64_t scan_period_ns(const struct go_worker *w)
{
	uint64_t ns = w->cfg.interval_ns / SCANS_PER_INTERVAL;

	return ns < SCAN_MIN_NS ? SCAN_MIN_NS : ns > SCAN_MAX_NS ? SCAN_MAX_NS : ns;
}

static int detect(void *ctx, const struct go_process_id *id)
{
	struct go_worker *w = ctx;

	return go_reader_detect(w->reader, id);
}

static int libraries(void *ctx, const struct go_process_id *id, struct go_file_key *keys,
		     size_t max)
{
	struct go_worker *w = ctx;
	int n = go_reader_libraries(w->reader, id, keys, max);

	metric_add(&w->metrics[GO_METRIC_LOOKS_FAILED], (n < 0 && n != -ESRCH) || n == (int)max);
	return n;
}

/* Without the right to look at processes of others there is nothing to be seen here but silence. */
static void tell_denied(struct go_worker *w)
{
	size_t n = go_processes_denied(w->processes);

	metric_set(&w->metrics[GO_METRIC_PROCESSES_DENIED], n);
	if (n > 0 && !w->denied)
		log_warn("whether processes are Go's may not be seen",
			 "processes=%zu needs=CAP_SYS_PTRACE", n);
	w->denied = n > 0;
}

/* Does what is due, and says for how long nothing will be. */
static uint64_t turn(struct go_worker *w)
{
	uint64_t now_ns = clock_monotonic_ns(), next_ns;
	struct go_process *g;

	if (now_ns >= w->next_scan_ns) {
		int r = go_processes_scan(w->processes, now_ns);

		if (r < 0)
			log_warn_limited("cannot look for Go processes", "error=\"%s\"",
					 strerror(-r));
		tell_denied(w);
		go_counters_expire(w->counters, now_ns);
		w->next_scan_ns = now_ns + scan_period_ns(w);
	}
	g = go_processes_next(w->processes);
	if (g && go_process_next_ns(g) <= now_ns) {
		do_process(w, g);
		g = go_processes_next(w->processes);
	}
	metric_set(&w->metrics[GO_METRIC_PROCESSES], go_processes_count(w->processes));
	next_ns = w->next_scan_ns;
	if (g && go_process_next_ns(g) < next_ns)
		next_ns = go_process_next_ns(g);
	now_ns = clock_monotonic_ns();
	return next_ns > now_ns ? next_ns - now_ns : 0;
}

/* The first error. */
static int restore_process(struct go_worker *w, struct go_process *g)
{
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	int r = go_reader_open(w->reader, &g->id, &o), heap = 0;

	if (r < 0)
		return r;
	if (w->cfg.heap_restore && g->is_ours)
		heap = heap_force(o->runtime, &g->id, HEAP_FORCE_OFF);
	metric_add(&w->metrics[GO_METRIC_RESTORED], heap > 0);
	r = go_locks_restore(&w->locks, g, o);
	return go_target_reason(&o->target, &g->id, heap < 0 ? heap : r);
}

/* What this and earlier agents have switched on. */
static void restore(struct go_worker *w)
{
	for (struct go_process *g = go_processes_each(w->processes, NULL); g;
	     g = go_processes_each(w->processes, g)) {
		bool any = (w->cfg.heap_restore && g->is_ours) || go_locks_any_ours(g);
		int r = any ? restore_process(w, g) : 0;

		if (r < 0)
			count_failure(w, r);
		if (r < 0 && r != -ESRCH)
			log_warn_limited("cannot switch a profiler off again",
					 "pid=%d error=\"%s\"", (int)g->id.pid, strerror(-r));
	}
}

static void *run(void *arg)
{
	struct go_worker *w = arg;
	uint64_t told_ns = 0;

	/* a thread of its own has a nice value of its own; sampling goes first */
	(void)setpriority(PRIO_PROCESS, 0, WORKER_NICE);
	while (!atomic_load(&w->stopping)) {
		uint64_t wait_ns = turn(w);
		uint64_t cpu_ns = clock_thread_cpu_ns();

		metric_add(&w->metrics[GO_METRIC_CPU_NS], cpu_ns - told_ns);
		told_ns = cpu_ns;
		(void)queue_pop_timeout(w->stop, wait_ns);
	}
	restore(w);
	return NULL;
}

/* On the loop thread. */
static void on_wake(void *ctx)
{
	struct go_worker *w = ctx;
	struct result *r;

	while ((r = queue_pop_timeout(w->results, 0))) {
		const struct go_upload u = {r->service, r->service, &r->pprof};

		w->cfg.on_profile(w->cfg.ctx, &u);
		result_free(r);
	}
}

/* ---- life ---- */

static int make_reader(struct go_worker *w, struct err *err)
{
	int r = go_reader_new(&w->reader, w->cfg.proc_root);

	if (r < 0)
		return err_set(err, r, "open %s: %s", w->cfg.proc_root ? w->cfg.proc_root : "/proc",
			       strerror(-r));

	const struct go_processes_config processes = {
		.root_fd = go_reader_root(w->reader),
		.interval_ns = w->cfg.interval_ns,
		.detect = detect,
		.ctx = w,
		.libraries = libraries,
	};
	return go_processes_new(&w->processes, &processes);
}

int go_worker_new(struct go_worker **ret, struct loop *l, struct metrics *ms,
		  const struct go_worker_config *cfg, struct err *err)
{
	CLEANUP(go_worker_freep) struct go_worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->cfg = *cfg;
	if (w->cfg.history_max_bytes == 0)
		w->cfg.history_max_bytes = GO_WORKER_HISTORY_BYTES;
	atomic_init(&w->stopping, false);
	memcpy(w->metrics, go_metrics, sizeof(w->metrics));
	r = make_reader(w, err);
	if (r == 0)
		r = go_locks_init(&w->locks, ms, &cfg->locks);
	if (r == 0)
		r = queue_new(&w->stop, 1);
	if (r == 0)
		r = queue_new(&w->results, MAX_RESULTS);
	if (r == 0)
		r = loop_add_wake(l, on_wake, w, &w->wake);
	if (r == 0)
		r = metrics_register(ms, w->metrics, GO_METRIC_MAX);
	if (r == 0)
		r = go_counters_new(&w->counters, ms);
	if (r < 0)
		return r;

	r = pthread_create(&w->thread, NULL, run, w);
	if (r != 0)
		return -r;
	w->started = true;
	(void)pthread_setname_np(w->thread, "go-profile");
	*ret = TAKE_PTR(w);
	return 0;
}

void go_worker_free(struct go_worker *w)
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
	go_counters_free(w->counters);
	go_reader_free(w->reader);
	free(w);
}
