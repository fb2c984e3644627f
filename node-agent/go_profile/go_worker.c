#include "node-agent/go_profile/go_worker.h"

#include <errno.h>
#include <fcntl.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/thread/queue.h"
#include "common/thread/stall_watch.h"
#include "node-agent/process/procfs.h"

#define MAX_RESULTS 4096
#define LOOKS_PER_HANG 30
/* After go_worker_stop(), which has had a while by the time that it is waited for. */
#define END_NS (5 * NS_PER_S)
#define END_MIN_NS (1 * NS_PER_S)

struct go_worker {
	struct go_worker_config cfg;
	struct go_metrics *metrics;
	struct queue *results; /* struct go_result */
	struct loop_source *wake;
	struct loop_source *timer;
	struct worker_thread *thread; /* NULL: too many are stuck, or none could be made */
	struct go_profiler *profiler; /* the thread's */
	struct stall_watch watch;
	struct go_profiler_past past;
	uint64_t stop_ns; /* when that was asked for; 0: not yet */
	bool is_told;     /* that there is no thread */
};

/* ---- results ---- */

/* On the thread. */
static int take_result(void *ctx, struct go_result *r)
{
	struct go_worker *w = ctx;

	if (queue_push(w->results, r) < 0)
		return -EAGAIN;
	loop_wake(w->wake);
	return 0;
}

static void on_wake(void *ctx)
{
	struct go_worker *w = ctx;
	struct go_result *r;

	while ((r = queue_pop_timeout(w->results, 0))) {
		const struct go_upload u = {r->workload, &r->pprof};

		metric_add(&w->metrics->of[r->kind], 1);
		w->cfg.on_profile(w->cfg.ctx, &u);
		go_result_free(r);
	}
}

/* ---- the thread ---- */

static void run(void *ctx, struct worker_thread *t)
{
	go_profiler_run(ctx, t);
}

static void free_profiler(void *ctx, bool abandoned)
{
	struct go_profiler *p = ctx;

	if (abandoned)
		go_profiler_came_back(p);
	go_profiler_free(p);
}

static uint64_t look_period_ns(const struct go_worker *w)
{
	return w->cfg.hang_ns / LOOKS_PER_HANG;
}

static int start(struct go_worker *w, struct err *err)
{
	const struct go_profiler_owner owner = {w->metrics, take_result, w};
	struct worker_thread_config thread = {
		.name = "go-profile",
		.run = run,
		.free = free_profiler,
		.nice = WORKER_THREAD_NICE_BACKGROUND,
	};
	CLEANUP(go_profiler_freep) struct go_profiler *p = NULL;
	int r;

	r = go_profiler_new(&p, &w->cfg.profiler, &owner, &w->past, err);
	if (r < 0)
		return r;
	thread.ctx = p;
	r = worker_thread_start(&w->thread, &thread);
	if (r < 0)
		return r;
	w->profiler = TAKE_PTR(p);
	stall_watch_init(&w->watch, look_period_ns(w), clock_monotonic_ns());
	return 0;
}

/* ---- the watch ---- */

/*
 * Completes the id and returns the workload, or NULL if the process has exited. Neither its memory nor
 * its files are read.
 */
static struct workload *identify(const struct go_worker *w, struct program_id *id)
{
	const char *root = w->cfg.profiler.proc_root;
	AUTO_CLOSE int root_fd = open(root ? root : "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = -1;
	struct go_target t = {.mem_fd = -1, .exe_fd = -1};
	struct workload *workload;
	struct proc_stat st;

	if (root_fd < 0 || id->pid == 0)
		return NULL;
	fd = procfs_open_process(root_fd, id->pid);
	if (fd < 0 || procfs_read_stat(fd, &st) < 0)
		return NULL;
	if (id->start_time == 0)
		id->start_time = st.start_time;
	t.proc_fd = fd;
	if (st.start_time != id->start_time || go_target_workload(&t, &workload) < 0)
		return NULL;
	return workload;
}

static void leave_behind(struct go_worker *w)
{
	struct metric *n_stuck = &w->metrics->of[GO_METRIC_STUCK];

	metric_add(n_stuck, 1);
	if (!worker_thread_abandon(TAKE_PTR(w->thread))) /* it has just come back, and is gone */
		metric_add(n_stuck, (uint64_t)-1);
	w->profiler = NULL;
}

static void remember(struct go_profiler_past *past, const struct go_profiler_position *at)
{
	past->any = true;
	past->seen_ticks = at->seen_ticks;
	if (at->id.pid == 0)
		return;
	past->left_out[past->next] = at->id;
	past->next = (past->next + 1) % GO_PROFILER_MAX_LEFT_OUT;
	if (past->n_left_out < GO_PROFILER_MAX_LEFT_OUT)
		past->n_left_out++;
}

static void abandon(struct go_worker *w, struct go_profiler_position *at)
{
	CLEANUP(workload_unrefp) struct workload *workload = identify(w, &at->id);

	log_warn("memory of a process cannot be read, nor the attempt be ended: left out from now "
		 "on",
		 "pid=%d service=%s seconds=%llu", (int)at->id.pid,
		 LOG_QUOTED(workload ? workload->service : ""),
		 (unsigned long long)((clock_monotonic_ns() - at->since_ns) / NS_PER_S));
	leave_behind(w);
	remember(&w->past, at);
	metric_add(&w->metrics->of[GO_METRIC_LEFT_OUT], at->id.pid != 0);
	metric_set(&w->metrics->of[GO_METRIC_PROCESSES], 0);
	go_counters_disown(w->metrics->counters);
}

static void start_again(struct go_worker *w)
{
	uint64_t n_stuck = metric_get(&w->metrics->of[GO_METRIC_STUCK]);
	struct err err = {""};
	int r;

	if (n_stuck >= GO_WORKER_MAX_STUCK) {
		if (!w->is_told)
			log_error("Go processes are not profiled: too many attempts to read hang",
				  "threads=%llu", (unsigned long long)n_stuck);
		w->is_told = true;
		return;
	}
	r = start(w, &err);
	if (r < 0) {
		log_warn_limited("cannot go on with Go processes", "error=\"%s\"",
				 err.msg[0] ? err.msg : strerror(-r));
		return;
	}
	if (w->is_told)
		log_info("Go processes are profiled again", "threads=%llu",
			 (unsigned long long)n_stuck);
	w->is_told = false;
}

static void look(struct go_worker *w)
{
	uint64_t cpu_ns = worker_thread_cpu_ns(w->thread), still_ns;
	struct go_profiler_position at;

	go_profiler_position(w->profiler, &at);
	still_ns =
		stall_watch_poll(&w->watch, clock_monotonic_ns(), cpu_ns, at.is_busy && cpu_ns > 0);
	if (still_ns >= w->cfg.hang_ns)
		abandon(w, &at);
}

static void on_timer(void *ctx)
{
	struct go_worker *w = ctx;

	if (w->thread)
		look(w);
	if (!w->thread)
		start_again(w);
	loop_set_timer(w->timer, look_period_ns(w));
}

/* ---- life ---- */

int go_worker_new(struct go_worker **ret, struct loop *l, struct metrics *ms,
		  const struct go_worker_config *cfg, struct err *err)
{
	CLEANUP(go_worker_freep) struct go_worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->cfg = *cfg;
	if (w->cfg.hang_ns == 0)
		w->cfg.hang_ns = GO_WORKER_HANG_NS;
	r = go_metrics_new(&w->metrics, ms);
	if (r == 0)
		r = queue_new(&w->results, MAX_RESULTS);
	if (r == 0)
		r = loop_add_wake(l, on_wake, w, &w->wake);
	if (r == 0)
		r = loop_add_timer(l, on_timer, w, &w->timer);
	if (r == 0)
		r = start(w, err);
	if (r < 0)
		return r;
	loop_set_timer(w->timer, look_period_ns(w));
	*ret = TAKE_PTR(w);
	return 0;
}

void go_worker_stop(struct go_worker *w)
{
	if (!w || w->stop_ns != 0)
		return;
	w->stop_ns = clock_monotonic_ns();
	loop_set_timer(w->timer, UINT64_MAX);
	if (w->thread)
		worker_thread_stop(w->thread);
}

static void end_thread(struct go_worker *w)
{
	uint64_t passed_ns = clock_monotonic_ns() - w->stop_ns;
	uint64_t wait_ns = passed_ns < END_NS - END_MIN_NS ? END_NS - passed_ns : END_MIN_NS;
	struct go_profiler_position at;

	if (!w->thread || worker_thread_join(w->thread, wait_ns) == 0)
		return;
	go_profiler_position(w->profiler, &at);
	log_warn("memory of a process cannot be read: what is on in Go processes stays so",
		 "pid=%d", (int)at.id.pid);
	leave_behind(w);
}

void go_worker_free(struct go_worker *w)
{
	struct go_result *r;

	if (!w)
		return;
	if (w->timer)
		go_worker_stop(w);
	end_thread(w);
	while (w->results && (r = queue_pop_timeout(w->results, 0)))
		go_result_free(r);
	loop_remove(w->timer);
	loop_remove(w->wake);
	queue_free(w->results);
	go_metrics_unref(w->metrics);
	free(w);
}
