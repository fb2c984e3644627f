/*
 * The loop thread's half: starts the thread, takes its results, and watches it.
 *
 * Reading another process may block in the kernel with no way out: a page of a file whose FUSE
 * server does not answer cannot be interrupted, and once the server has taken the request, not
 * even killed. A time limit per read would need a thread per read. So one thread does all
 * reads, and this half watches it from outside: the thread publishes which process it is
 * working on (runtime_position), and if it uses no CPU time meanwhile, it hangs. Then it is
 * abandoned: it keeps everything that it uses, and a new thread starts with nothing but a list
 * of processes to leave out. Stuck threads are limited, because each one keeps its memory.
 */
#include "node-agent/runtime/runtime_worker.h"

#include <errno.h>
#include <fcntl.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/thread/queue.h"
#include "common/thread/stall_watch.h"
#include "node-agent/process/process_table.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/runtime/runtime_profiler.h"
#include "node-agent/runtime/runtime_shared.h"
#include "node-agent/runtime/runtime_states.h"

#define MAX_RESULTS 4096
#define POLLS_PER_HANG 30
/*
 * From runtime_worker_stop() on; at least the minimum is left when runtime_worker_free() is
 * called.
 */
#define END_MIN_NS (1 * NS_PER_S)

struct runtime_worker {
	struct runtime_worker_config cfg;
	struct runtime_shared *shared;
	struct queue *results; /* struct runtime_result */
	struct loop_source *wake;
	struct loop_source *timer;
	struct worker_thread *thread;      /* NULL: too many are stuck, or none could be made */
	struct runtime_profiler *profiler; /* the thread's */
	struct process_listener on_process;
	struct stall_watch watch;
	struct runtime_past past;
	uint64_t stop_ns; /* when runtime_worker_stop() was called; 0: not yet */
	bool is_paused;   /* too many are stuck; logged */
};

/* ---- results ---- */

/* On the thread. */
static int take_result(void *ctx, struct runtime_result *r)
{
	struct runtime_worker *w = ctx;

	if (queue_push(w->results, r) < 0)
		return -EAGAIN;
	loop_wake(w->wake);
	return 0;
}

static void on_wake(void *ctx)
{
	struct runtime_worker *w = ctx;
	struct runtime_result *r;

	while ((r = queue_pop_timeout(w->results, 0))) {
		const struct runtime_upload u = {r->workload, &r->pprof, r->profile};

		metric_add(&w->shared->profiles[r->profile], 1);
		w->cfg.on_profile(w->cfg.ctx, &u);
		runtime_result_free(r);
	}
}

/* ---- the thread ---- */

static void run(void *ctx, struct worker_thread *t)
{
	runtime_profiler_run(ctx, t);
}

static void free_profiler(void *ctx, bool abandoned)
{
	if (abandoned)
		runtime_profiler_recovered(ctx);
	runtime_profiler_free(ctx);
}

static uint64_t poll_period_ns(const struct runtime_worker *w)
{
	return w->cfg.hang_ns / POLLS_PER_HANG;
}

static void on_changed(void *ctx, pid_t pid, enum process_change change)
{
	const struct runtime_worker *w = ctx;

	if (w->profiler && w->stop_ns == 0) /* the thread frees it when it ends */
		runtime_profiler_change(w->profiler, pid, change);
}

static void add_process(void *ctx, pid_t pid)
{
	runtime_profiler_change(ctx, pid, PROCESS_CHANGED);
}

static int start_thread(struct runtime_worker *w, struct err *err)
{
	const struct runtime_profiler_config cfg = {
		.ops = w->cfg.ops,
		.proc_root = w->cfg.proc_root,
		.interval_ns = w->cfg.interval_ns,
		.filter = w->cfg.filter,
		.history_max_bytes = w->cfg.history_max_bytes,
		.shared = w->shared,
		.take = take_result,
		.take_ctx = w,
		.name_rules = w->cfg.name_rules,
		.states = w->cfg.states,
	};
	struct worker_thread_config thread = {
		.name = w->cfg.ops->thread_name,
		.run = run,
		.free = free_profiler,
		.nice = WORKER_THREAD_NICE_BACKGROUND,
	};
	CLEANUP(runtime_profiler_freep) struct runtime_profiler *p = NULL;
	int r;

	r = runtime_profiler_new(&p, &cfg, &w->past, err);
	if (r < 0)
		return r;
	process_table_each(w->cfg.processes, add_process, p);
	thread.ctx = p;
	r = worker_thread_start(&w->thread, &thread);
	if (r < 0)
		return r;
	w->profiler = TAKE_PTR(p);
	stall_watch_init(&w->watch, poll_period_ns(w), clock_monotonic_ns());
	return 0;
}

/* ---- stalls ---- */

/*
 * Completes the id and returns the workload, or NULL if the process has exited. Neither its
 * memory nor its files are read.
 */
static struct workload *identify(const struct runtime_worker *w, struct program_id *id)
{
	AUTO_CLOSE int root_fd = open(w->cfg.proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = -1;
	struct workload_facts facts = {0};
	struct workload *workload;
	struct proc_stat st;

	if (root_fd < 0 || id->pid == 0)
		return NULL;
	fd = procfs_open_process(root_fd, id->pid);
	if (fd < 0 || procfs_read_stat(fd, &st) < 0)
		return NULL;
	if (id->start_time == 0)
		id->start_time = st.start_time;
	facts.comm = st.comm;
	if (st.start_time != id->start_time || workload_read(&workload, fd, &facts) < 0)
		return NULL;
	return workload;
}

static void leave_behind(struct runtime_worker *w)
{
	struct metric *n_stuck = &w->shared->metrics[RUNTIME_METRIC_STUCK];

	metric_add(n_stuck, 1);
	if (!worker_thread_abandon(TAKE_PTR(w->thread))) /* it has ended at this very moment */
		metric_add(n_stuck, (uint64_t)-1);
	w->profiler = NULL;
}

static void abandon(struct runtime_worker *w, struct runtime_position *at)
{
	CLEANUP(workload_unrefp) struct workload *workload = identify(w, &at->id);

	log_warn("reading a process's memory or files hangs; ignoring this process from now on",
		 "runtime=%s pid=%d service=%s seconds=%llu", w->cfg.ops->name, (int)at->id.pid,
		 LOG_QUOTED(workload ? workload->service : ""),
		 (unsigned long long)((clock_monotonic_ns() - at->since_ns) / NS_PER_S));
	leave_behind(w);
	w->past.any = true;
	w->past.seen_ticks = at->seen_ticks;
	if (at->id.pid != 0)
		left_out_add(&w->past.left_out, &at->id);
	metric_add(&w->shared->metrics[RUNTIME_METRIC_LEFT_OUT], at->id.pid != 0);
	metric_set(&w->shared->metrics[RUNTIME_METRIC_PROCESSES], 0);
	runtime_containers_disown(w->shared->containers);
	if (w->cfg.states)
		runtime_states_disown(w->cfg.states, w->cfg.ops->name);
}

static void restart(struct runtime_worker *w)
{
	uint64_t n_stuck = metric_get(&w->shared->metrics[RUNTIME_METRIC_STUCK]);
	struct err err = {""};
	int r;

	if (n_stuck >= RUNTIME_WORKER_MAX_STUCK) {
		if (!w->is_paused)
			log_error("profiling of a runtime is paused: too many reads hang",
				  "runtime=%s threads=%llu", w->cfg.ops->name,
				  (unsigned long long)n_stuck);
		w->is_paused = true;
		return;
	}
	r = start_thread(w, &err);
	if (r < 0) {
		log_warn_limited("cannot start another thread to profile a runtime; trying again",
				 "runtime=%s error=\"%s\"", w->cfg.ops->name,
				 err.msg[0] ? err.msg : strerror(-r));
		return;
	}
	if (w->is_paused)
		log_info("profiling of a runtime resumed", "runtime=%s threads=%llu",
			 w->cfg.ops->name, (unsigned long long)n_stuck);
	w->is_paused = false;
}

static void check_thread(struct runtime_worker *w)
{
	uint64_t cpu_ns = worker_thread_cpu_ns(w->thread), stalled_ns;
	struct runtime_position at;

	runtime_profiler_position(w->profiler, &at);
	stalled_ns =
		stall_watch_poll(&w->watch, clock_monotonic_ns(), cpu_ns, at.is_busy && cpu_ns > 0);
	if (stalled_ns >= w->cfg.hang_ns)
		abandon(w, &at);
}

static void on_timer(void *ctx)
{
	struct runtime_worker *w = ctx;

	if (w->thread)
		check_thread(w);
	if (!w->thread)
		restart(w);
	loop_set_timer(w->timer, poll_period_ns(w));
}

/* ---- create, stop and free ---- */

static void set_defaults(struct runtime_worker_config *cfg)
{
	if (!cfg->proc_root)
		cfg->proc_root = "/proc";
	if (cfg->history_max_bytes == 0)
		cfg->history_max_bytes = RUNTIME_WORKER_HISTORY_BYTES;
	if (cfg->hang_ns == 0)
		cfg->hang_ns = RUNTIME_WORKER_HANG_NS;
	if (cfg->end_ns == 0)
		cfg->end_ns = RUNTIME_WORKER_END_NS;
}

int runtime_worker_new(struct runtime_worker **ret, struct loop *l, struct metrics *ms,
		       const struct runtime_worker_config *cfg, struct err *err)
{
	CLEANUP(runtime_worker_freep) struct runtime_worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->cfg = *cfg;
	set_defaults(&w->cfg);
	r = runtime_shared_new(&w->shared, cfg->ops, cfg->config, cfg->filter.directory, ms);
	if (r == 0)
		r = queue_new(&w->results, MAX_RESULTS);
	if (r == 0)
		r = loop_add_wake(l, on_wake, w, &w->wake);
	if (r == 0)
		r = loop_add_timer(l, on_timer, w, &w->timer);
	w->on_process = (struct process_listener){.on_changed = on_changed, .ctx = w};
	process_table_subscribe(cfg->processes, &w->on_process);
	if (r == 0)
		r = start_thread(w, err);
	if (r < 0)
		return r;
	loop_set_timer(w->timer, poll_period_ns(w));
	*ret = TAKE_PTR(w);
	return 0;
}

void runtime_worker_stop(struct runtime_worker *w)
{
	if (!w || w->stop_ns != 0)
		return;
	w->stop_ns = clock_monotonic_ns();
	loop_set_timer(w->timer, UINT64_MAX);
	if (w->thread)
		worker_thread_stop(w->thread);
}

static void end_thread(struct runtime_worker *w)
{
	uint64_t passed_ns = clock_monotonic_ns() - w->stop_ns;
	uint64_t end_ns = w->cfg.end_ns;
	uint64_t wait_ns = passed_ns + END_MIN_NS < end_ns ? end_ns - passed_ns : END_MIN_NS;
	struct runtime_position at;

	if (!w->thread || worker_thread_join(w->thread, wait_ns) == 0)
		return;
	runtime_profiler_position(w->profiler, &at);
	log_warn("reading a process did not end in time at shutdown: what the agent switched on "
		 "stays on",
		 "runtime=%s pid=%d", w->cfg.ops->name, (int)at.id.pid);
	leave_behind(w);
}

void runtime_worker_free(struct runtime_worker *w)
{
	struct runtime_result *r;

	if (!w)
		return;
	process_table_unsubscribe(w->cfg.processes, &w->on_process);
	if (w->timer)
		runtime_worker_stop(w);
	end_thread(w);
	while (w->results && (r = queue_pop_timeout(w->results, 0)))
		runtime_result_free(r);
	loop_remove(w->timer);
	loop_remove(w->wake);
	queue_free(w->results);
	runtime_shared_unref(w->shared);
	free(w);
}
