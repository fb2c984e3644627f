/*
 * One loop: scan processes if that is due, run one turn if one is due, wait for whichever comes
 * next. One turn per round, so that a node with many processes is still scanned in time, and
 * so that the position, by which the owner recognises a hang (runtime_worker.c), always names
 * the process.
 *
 * Whatever an abandoned thread does when it wakes up, possibly hours later, must not disturb
 * its successor. So gauges and results are only set between worker_thread_enter() and
 * _leave(); counters may be added to, they are shared for that.
 */
#include "node-agent/runtime/runtime_profiler.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/runtime/runtime_states.h"
#include "node-agent/workload/process_namer.h"

#define SCANS_PER_INTERVAL 4
#define SCAN_MIN_NS (1 * NS_PER_S)
#define SCAN_MAX_NS (15 * NS_PER_S)

/* Reported since the last scan. */
struct change {
	UT_hash_handle hh; /* by pid */
	pid_t pid;
	enum process_change change; /* PROCESS_STARTED: also if others came after it */
	bool is_unknown; /* no scan has seen the process: if it exits, there is nothing to do */
};

struct runtime_profiler {
	struct runtime_profiler_config cfg;
	struct runtime_past past;
	struct turn_runner runner;
	uint64_t next_scan_ns;
	bool is_denied; /* the last scan could not examine all processes */
	pid_t last_pid; /* of position */
	pthread_mutex_t position_lock;
	struct runtime_position position;
	pthread_mutex_t changes_lock;
	struct change *changes;
	bool missed_change; /* there was no memory for it */
};

/* ---- position ---- */

/* id: NULL for no process in particular. */
static void set_position(struct runtime_profiler *p, bool is_busy, const struct program_id *id)
{
	const struct runtime_position position = {
		.is_busy = is_busy,
		.id = id ? *id : (struct program_id){0},
		.since_ns = clock_monotonic_ns(),
		.seen_ticks = runtime_processes_seen_ticks(p->runner.processes),
	};

	if (id)
		p->last_pid = id->pid;
	pthread_mutex_lock(&p->position_lock);
	p->position = position;
	pthread_mutex_unlock(&p->position_lock);
}

void runtime_profiler_position(struct runtime_profiler *p, struct runtime_position *ret)
{
	pthread_mutex_lock(&p->position_lock);
	*ret = p->position;
	pthread_mutex_unlock(&p->position_lock);
}

/* ---- changes ---- */

static void drop_change(struct runtime_profiler *p, struct change *c)
{
	HASH_DEL(p->changes, c);
	table_free(c);
}

static struct change *require_change(struct runtime_profiler *p, pid_t pid, bool is_unknown)
{
	struct change *c;

	HASH_FIND(hh, p->changes, &pid, sizeof(pid), c);
	if (c)
		return c;
	c = table_malloc(sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct change){.pid = pid, .change = PROCESS_CHANGED, .is_unknown = is_unknown};
	HASH_ADD(hh, p->changes, pid, sizeof(c->pid), c);
	if (TABLE_ADDED(hh, c))
		return c;
	table_free(c);
	return NULL;
}

void runtime_profiler_change(struct runtime_profiler *p, pid_t pid, enum process_change change)
{
	struct change *c;

	pthread_mutex_lock(&p->changes_lock);
	c = require_change(p, pid, change == PROCESS_STARTED);
	if (!c)
		p->missed_change = true; /* the process table reports new processes again */
	else if (change == PROCESS_EXITED && c->is_unknown)
		drop_change(p, c);
	else if (change == PROCESS_EXITED || c->change != PROCESS_STARTED)
		c->change = change;
	pthread_mutex_unlock(&p->changes_lock);
}

/* Returns 0, or -ENOMEM: the rest stays. */
static int take_changes(struct runtime_profiler *p)
{
	int r = 0;

	pthread_mutex_lock(&p->changes_lock);
	if (p->missed_change)
		runtime_processes_change_all(p->runner.processes);
	p->missed_change = false;
	while (r == 0 && p->changes) {
		struct change *c = p->changes;

		r = runtime_processes_change(p->runner.processes, c->pid, c->change);
		if (r == 0)
			drop_change(p, c);
	}
	pthread_mutex_unlock(&p->changes_lock);
	return r;
}

/* ---- restore ---- */

/* A predecessor, or an agent before, may have changed a process that was not read yet. */
static void claim(struct runtime_profiler *p, struct runtime_process *process)
{
	if ((p->past.any || p->cfg.ops->has_leftovers) && process->image == 0 &&
	    process->baseline == RUNTIME_BASELINE_NOW)
		p->cfg.ops->claim(p->runner.reader, process->session);
}

/* Undoes what this and earlier agents changed in one process. As turn_runner_restore(). */
static int restore_one(struct runtime_profiler *p, struct runtime_process *one)
{
	int r;

	if (!p->cfg.ops->restore)
		return 0;
	claim(p, one);
	set_position(p, true, &one->id);
	r = turn_runner_restore(&p->runner, one);
	if (r < 0)
		runtime_shared_count_failure(p->cfg.shared, r);
	if (r < 0 && r != -ESRCH)
		log_warn_limited("cannot switch a profiler off again",
				 "runtime=%s pid=%d error=\"%s\"", p->cfg.ops->name,
				 (int)one->id.pid, strerror(-r));
	return r;
}

/* ---- which processes ---- */

static int read_subject(void *ctx, const struct program_id *id, struct runtime_subject *ret)
{
	struct runtime_profiler *p = ctx;

	if (worker_thread_is_abandoned(p->runner.thread))
		return -ECANCELED;
	return runtime_subject_read(ret, p->runner.root_fd, id, p->runner.namer);
}

/* What the filter uses may be gone when a thread was abandoned, so that one decides nothing. */
static enum runtime_verdict decide(void *ctx, const struct runtime_subject *s, bool may_wait)
{
	struct runtime_profiler *p = ctx;
	enum runtime_verdict verdict;

	if (!worker_thread_enter(p->runner.thread))
		return RUNTIME_UNDECIDED;
	verdict = runtime_filter_decide(&p->cfg.filter, s, may_wait);
	worker_thread_leave(p->runner.thread);
	return verdict;
}

/* An abandoned thread must not read processes any more. */
static int leave(void *ctx, struct runtime_process *one)
{
	struct runtime_profiler *p = ctx;

	return worker_thread_is_abandoned(p->runner.thread) ? -ECANCELED : restore_one(p, one);
}

/* ---- scan ---- */

static uint64_t scan_period_ns(const struct runtime_profiler *p)
{
	uint64_t ns = p->cfg.interval_ns / SCANS_PER_INTERVAL;

	return ns < SCAN_MIN_NS ? SCAN_MIN_NS : ns > SCAN_MAX_NS ? SCAN_MAX_NS : ns;
}

static void at_process(void *ctx, pid_t pid)
{
	set_position(ctx, true, &(struct program_id){.pid = pid});
}

/* An abandoned thread must not examine files any more: it would hang again. */
static int detect(void *ctx, const struct program_id *id)
{
	struct runtime_profiler *p = ctx;

	if (worker_thread_is_abandoned(p->runner.thread))
		return -ECANCELED;
	return p->cfg.ops->detect(p->runner.reader, id);
}

static int libraries(void *ctx, const struct program_id *id, struct file_id *files, size_t max)
{
	struct runtime_profiler *p = ctx;
	int n;

	if (worker_thread_is_abandoned(p->runner.thread))
		return -ECANCELED;
	n = p->cfg.ops->libraries(p->runner.reader, id, files, max);
	metric_add(&p->cfg.shared->metrics[RUNTIME_METRIC_LIBRARIES_FAILED],
		   (n < 0 && n != -ESRCH) || n == (int)max);
	return n;
}

static bool has_leftovers(void *ctx, const struct program_id *id)
{
	struct runtime_profiler *p = ctx;

	return !worker_thread_is_abandoned(p->runner.thread) &&
	       p->cfg.ops->has_leftovers(p->runner.reader, id);
}

static void set_gauge(struct runtime_profiler *p, enum runtime_metric gauge, uint64_t v)
{
	if (!worker_thread_enter(p->runner.thread))
		return;
	metric_set(&p->cfg.shared->metrics[gauge], v);
	worker_thread_leave(p->runner.thread);
}

/* Once, until all can be examined again. */
static void report_denied(struct runtime_profiler *p)
{
	struct access_denial one;
	size_t n = runtime_processes_denied(p->runner.processes, &one);

	set_gauge(p, RUNTIME_METRIC_DENIED, n);
	if (n > 0 && !p->is_denied)
		log_warn("no permission to see what a process executes, so it is not profiled",
			 "runtime=%s pid=%d name=%s reason=\"%s\" processes=%zu", p->cfg.ops->name,
			 (int)one.pid, LOG_QUOTED(one.name), one.reason, n);
	p->is_denied = n > 0;
}

static void scan(struct runtime_profiler *p, uint64_t now_ns)
{
	int r;

	set_position(p, true, NULL);
	r = take_changes(p);
	if (r == 0)
		r = runtime_processes_scan(p->runner.processes, now_ns);
	if (worker_thread_is_abandoned(p->runner.thread))
		return;
	if (r < 0)
		log_warn_limited("cannot scan /proc for processes", "runtime=%s error=\"%s\"",
				 p->cfg.ops->name, strerror(-r));
	report_denied(p);
	runtime_containers_expire(p->cfg.shared->containers, now_ns);
	set_gauge(p, RUNTIME_METRIC_EXCLUDED, runtime_processes_excluded(p->runner.processes));
	/* names of containers are known soon */
	p->next_scan_ns =
		now_ns + (runtime_processes_undecided(p->runner.processes) > 0 ? SCAN_MIN_NS
									       : scan_period_ns(p));
}

/* ---- turns ---- */

/* Does what is due, and returns for how long nothing will be. */
static uint64_t work_once(struct runtime_profiler *p)
{
	struct runtime_processes *processes = p->runner.processes;
	uint64_t now_ns = clock_monotonic_ns(), next_ns;
	struct runtime_process *next;

	if (now_ns >= p->next_scan_ns)
		scan(p, now_ns);
	next = runtime_processes_next(processes);
	if (next && runtime_process_next_ns(next) <= now_ns &&
	    !worker_thread_must_end(p->runner.thread)) {
		set_position(p, true, &next->id);
		turn_runner_run(&p->runner, next);
		next = runtime_processes_next(processes);
	}
	set_position(p, false, NULL);
	set_gauge(p, RUNTIME_METRIC_PROCESSES, runtime_processes_count(processes));
	next_ns = p->next_scan_ns;
	if (next && runtime_process_next_ns(next) < next_ns)
		next_ns = runtime_process_next_ns(next);
	now_ns = clock_monotonic_ns();
	return next_ns > now_ns ? next_ns - now_ns : 0;
}

/* ---- end ---- */

/* pid: restores that process alone; 0: all. */
static void restore(struct runtime_profiler *p, pid_t pid)
{
	struct runtime_processes *processes = p->runner.processes;

	if (!p->cfg.ops->restore)
		return;
	if (p->past.any && p->next_scan_ns == 0)
		scan(p, clock_monotonic_ns());
	for (struct runtime_process *one = runtime_processes_each(processes, NULL); one;
	     one = runtime_processes_each(processes, one)) {
		if (pid == 0 || one->id.pid == pid)
			(void)restore_one(p, one);
	}
}

void runtime_profiler_run(struct runtime_profiler *p, struct worker_thread *t)
{
	uint64_t counted_ns = 0;

	p->runner.thread = t;
	while (!worker_thread_must_end(t)) {
		uint64_t wait_ns = work_once(p);
		uint64_t cpu_ns = clock_thread_cpu_ns();

		metric_add(&p->cfg.shared->metrics[RUNTIME_METRIC_CPU_NS], cpu_ns - counted_ns);
		counted_ns = cpu_ns;
		worker_thread_wait(t, wait_ns);
	}
	if (!worker_thread_is_abandoned(t))
		restore(p, 0);
	else if (p->last_pid != 0)
		restore(p, p->last_pid);
}

void runtime_profiler_recovered(struct runtime_profiler *p)
{
	metric_add(&p->cfg.shared->metrics[RUNTIME_METRIC_STUCK], (uint64_t)-1);
}

/* ---- create and free ---- */

static int make_processes(struct runtime_profiler *p)
{
	const struct runtime_processes_config cfg = {
		.root_fd = p->runner.root_fd,
		.interval_ns = p->cfg.interval_ns,
		.ops = p->cfg.ops,
		.detect = detect,
		.libraries = p->cfg.ops->libraries ? libraries : NULL,
		.subject = p->cfg.filter.filter ? read_subject : NULL,
		.decide = p->cfg.filter.filter ? decide : NULL,
		.leave = p->cfg.filter.filter ? leave : NULL,
		.leave_unknown = p->past.any && p->cfg.ops->restore,
		.has_leftovers = p->cfg.ops->has_leftovers ? has_leftovers : NULL,
		.at = at_process,
		.ctx = p,
		.left_out = &p->past.left_out,
		.seen_ticks = p->past.seen_ticks,
	};

	return runtime_processes_new(&p->runner.processes, &cfg);
}

static int make_parts(struct runtime_profiler *p, struct err *err)
{
	const char *root = p->cfg.proc_root;
	int r = 0;

	p->runner.root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->runner.root_fd < 0)
		r = -errno;
	if (r == 0)
		r = p->cfg.ops->reader_new(&p->runner.reader, p->cfg.shared->runtime, root);
	if (r == 0)
		r = process_namer_new(&p->runner.namer, p->cfg.name_rules);
	if (r < 0)
		return err_set(err, r, "open %s: %s", root, strerror(-r));
	return make_processes(p);
}

int runtime_profiler_new(struct runtime_profiler **ret, const struct runtime_profiler_config *cfg,
			 const struct runtime_past *past, struct err *err)
{
	CLEANUP(runtime_profiler_freep) struct runtime_profiler *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->cfg = *cfg;
	p->past = *past;
	p->runner = (struct turn_runner){
		.root_fd = -1,
		.ops = cfg->ops,
		.shared = runtime_shared_ref(cfg->shared),
		.take = cfg->take,
		.take_ctx = cfg->take_ctx,
		.history_max_bytes = cfg->history_max_bytes,
		.states = cfg->states ? runtime_states_ref(cfg->states) : NULL,
	};
	pthread_mutex_init(&p->position_lock, NULL);
	pthread_mutex_init(&p->changes_lock, NULL);
	r = make_parts(p, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

void runtime_profiler_free(struct runtime_profiler *p)
{
	if (!p)
		return;
	runtime_processes_free(p->runner.processes);
	process_namer_free(p->runner.namer);
	if (p->runner.reader)
		p->cfg.ops->reader_free(p->runner.reader);
	runtime_states_unref(p->runner.states);
	while (p->changes)
		drop_change(p, p->changes);
	runtime_shared_unref(p->runner.shared);
	closep(&p->runner.root_fd);
	pthread_mutex_destroy(&p->position_lock);
	pthread_mutex_destroy(&p->changes_lock);
	free(p);
}
