#include "node-agent/go_profile/go_profiler.h"

#include <errno.h>
#include <pthread.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/go/heap/heap_force.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go_profile/go_processes.h"

#define FORCED_WAIT_NS (1 * NS_PER_S) /* each processor counts one sample too much at the switch */
#define SCANS_PER_INTERVAL 4
#define SCAN_MIN_NS (1 * NS_PER_S)
#define SCAN_MAX_NS (15 * NS_PER_S)

struct go_profiler {
	struct go_profiler_config cfg;
	struct go_profiler_owner owner;
	struct go_profiler_past past;
	struct go_metrics *metrics;
	struct worker_thread *thread; /* that it runs on */
	struct go_reader *reader;
	struct go_processes *processes;
	struct go_locks locks;
	uint64_t next_scan_ns;
	bool denied;    /* the last scan was not allowed to see all processes */
	pid_t last_pid; /* of position */
	pthread_mutex_t position_lock;
	struct go_profiler_position position;
};

void go_result_free(struct go_result *r)
{
	if (!r)
		return;
	buf_fini(&r->pprof);
	workload_unref(r->workload);
	free(r);
}

/* ---- where it is ---- */

/* NULL: at no process in particular. */
static void set_position(struct go_profiler *p, bool is_busy, const struct program_id *id)
{
	const struct go_profiler_position position = {
		.is_busy = is_busy,
		.id = id ? *id : (struct program_id){0},
		.since_ns = clock_monotonic_ns(),
		.seen_ticks = go_processes_seen_ticks(p->processes),
	};

	if (id)
		p->last_pid = id->pid;
	pthread_mutex_lock(&p->position_lock);
	p->position = position;
	pthread_mutex_unlock(&p->position_lock);
}

void go_profiler_position(struct go_profiler *p, struct go_profiler_position *ret)
{
	pthread_mutex_lock(&p->position_lock);
	*ret = p->position;
	pthread_mutex_unlock(&p->position_lock);
}

/* ---- one process ---- */

/* Results of go_profiler_owner.take(). */
static int hand_over(struct go_profiler *p, struct go_result *made)
{
	int r;

	if (!worker_thread_enter(p->thread))
		return -ECANCELED;
	r = p->owner.take(p->owner.ctx, made);
	worker_thread_leave(p->thread);
	return r;
}

/* Takes the content of pprof. -EAGAIN: the loop does not take profiles fast enough. */
static int pass_on(struct go_profiler *p, const struct go_opened *o, struct buf *pprof,
		   enum go_metric kind)
{
	CLEANUP(go_result_freep) struct go_result *made = calloc(1, sizeof(*made));
	int r;

	if (!made)
		return -ENOMEM;
	made->pprof = *pprof;
	buf_init(pprof, LIMIT_UPLOAD_BYTES);
	r = go_target_workload(&o->target, &made->workload);
	if (r < 0)
		return r;
	made->kind = kind;
	r = hand_over(p, made);
	if (r == 0)
		(void)TAKE_PTR(made);
	return r;
}

static void count_failure(struct go_profiler *p, int error)
{
	if (error != -ECANCELED)
		metric_add(&p->metrics->of[go_metrics_reason(error)], 1);
}

static int read_heap(struct go_profiler *p, struct go_process *g, struct go_opened *o,
		     uint64_t now_ns)
{
	const struct heap_subject subject = {&g->id, g->heap, (int64_t)(now_ns - g->told_ns)};
	CLEANUP(buf_fini) struct buf pprof;
	struct heap_reading reading;
	int r;

	buf_init(&pprof, LIMIT_UPLOAD_BYTES);
	if (!p->cfg.heap)
		return 0;
	r = heap_reader_read(o->runtime, &subject, &p->cfg.heap_reader, &pprof, &reading);
	metric_add(&p->metrics->of[GO_METRIC_BUCKETS], reading.round.n_buckets);
	metric_add(&p->metrics->of[GO_METRIC_TORN], reading.round.n_torn);
	metric_add(&p->metrics->of[GO_METRIC_BACKWARDS], reading.n_backwards);
	metric_add(&p->metrics->of[GO_METRIC_OFF], reading.off);
	if (r < 0)
		return r;
	g->told_ns = now_ns;
	g->is_ours = reading.is_ours;
	if (reading.forced) {
		metric_add(&p->metrics->of[GO_METRIC_FORCED], 1);
		return go_processes_restart(g, now_ns + FORCED_WAIT_NS);
	}
	r = go_counters_add_heap(p->metrics->counters, g, o, &reading);
	if (r < 0)
		return r;
	return reading.n_samples == 0 ? 0 : pass_on(p, o, &pprof, GO_METRIC_HEAP_PROFILES);
}

static void count_goroutines(struct go_profiler *p, const struct goroutine_reading *reading)
{
	metric_add(&p->metrics->of[GO_METRIC_GOROUTINES], reading->n_goroutines);
	metric_add(&p->metrics->of[GO_METRIC_GOROUTINES_RUNNING], reading->n_running);
	metric_add(&p->metrics->of[GO_METRIC_GOROUTINES_MOVED], reading->n_moved);
	metric_add(&p->metrics->of[GO_METRIC_GOROUTINES_LIMITED], reading->n_limited);
	metric_add(&p->metrics->of[GO_METRIC_GOROUTINES_UNREADABLE], reading->n_unreadable);
	metric_add(&p->metrics->of[GO_METRIC_GOROUTINES_BROKEN], reading->n_broken);
	metric_add(&p->metrics->of[GO_METRIC_GOROUTINES_CUT], reading->n_cut);
	metric_add(&p->metrics->of[GO_METRIC_GOROUTINES_BAD], reading->n_bad);
}

/* What is soon said, and will be again, does not make the process one that is read less often. */
static bool is_unknown(int error)
{
	return error == -ENOTSUP || error == -ENOENT || error == -EBADMSG || error == -E2BIG;
}

static int read_goroutines(struct go_profiler *p, struct go_process *g, struct go_opened *o,
			   uint64_t now_ns)
{
	CLEANUP(buf_fini) struct buf pprof;
	struct goroutine_reading reading;
	int r;

	(void)now_ns;
	buf_init(&pprof, LIMIT_UPLOAD_BYTES);
	if (!p->cfg.goroutines)
		return 0;
	r = goroutine_reader_read(o->runtime, &p->cfg.goroutine_reader, &pprof, &reading);
	if (r < 0) {
		r = go_target_reason(&o->target, &g->id, r);
		if (!is_unknown(r))
			return r;
		count_failure(p, r);
		return 0;
	}
	count_goroutines(p, &reading);
	return reading.n_samples == 0 ? 0 : pass_on(p, o, &pprof, GO_METRIC_GOROUTINE_PROFILES);
}

/* A profiler that cannot be read or switched does not make its process one that cannot be read. */
static int read_lock(struct go_profiler *p, enum lock_kind kind, struct go_process *g,
		     struct go_opened *o, uint64_t now_ns)
{
	CLEANUP(buf_fini) struct buf pprof;
	enum go_metric made =
		kind == LOCK_MUTEX ? GO_METRIC_MUTEX_PROFILES : GO_METRIC_BLOCK_PROFILES;
	int r;

	buf_init(&pprof, LIMIT_UPLOAD_BYTES);
	r = go_locks_read(&p->locks, kind, g, o, now_ns, &pprof);
	if (r < 0) {
		r = go_target_reason(&o->target, &g->id, r);
		if (r == -ESRCH)
			return r;
		count_failure(p, r);
	}
	return pprof.len == 0 ? 0 : pass_on(p, o, &pprof, made);
}

static int read_mutex(struct go_profiler *p, struct go_process *g, struct go_opened *o,
		      uint64_t now_ns)
{
	return read_lock(p, LOCK_MUTEX, g, o, now_ns);
}

static int read_block(struct go_profiler *p, struct go_process *g, struct go_opened *o,
		      uint64_t now_ns)
{
	return read_lock(p, LOCK_BLOCK, g, o, now_ns);
}

static int read_counters(struct go_profiler *p, struct go_process *g, struct go_opened *o,
			 uint64_t now_ns)
{
	(void)now_ns;
	return go_counters_read(p->metrics->counters, g, o);
}

/* What is read of a process in each of its turns; one that fails does not keep the others from it. */
static int (*const readers[])(struct go_profiler *p, struct go_process *g, struct go_opened *o,
			      uint64_t now_ns) = {
	read_heap, read_goroutines, read_mutex, read_block, read_counters,
};

/*
 * It may have executed the same file anew: what was known is not of this process then. And a child that has executed nothing
 * yet has nothing of its own to tell. -ECHILD: it is one.
 */
static int check_image(const struct go_profiler *p, struct go_process *g, const struct go_opened *o)
{
	bool is_new = g->image != 0 && g->image != o->target.image;

	if (g->image == 0 && go_target_is_copy(&o->target, go_reader_root(p->reader)))
		return -ECHILD;
	g->image = o->target.image;
	if (is_new && g->share)
		go_share_restart(g->share);
	return is_new ? go_processes_renew(g, BUCKET_HISTORY_FROM_ZERO) : 0;
}

/* Many processes with many records each are too much together. */
static int check_bytes(struct go_profiler *p, struct go_process *g)
{
	if (go_processes_bytes(p->processes) <= p->cfg.history_max_bytes)
		return 0;
	return go_processes_renew(g, BUCKET_HISTORY_FROM_NOW) < 0 ? -ENOMEM : -E2BIG;
}

/* The first error. */
static int read_process(struct go_profiler *p, struct go_process *g, uint64_t now_ns)
{
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	int first = 0;
	int r = go_reader_open(p->reader, &g->id, &o);

	if (r == 0)
		r = check_image(p, g, o);
	if (r < 0) {
		count_failure(p, r);
		return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(readers) && !worker_thread_must_end(p->thread); i++) {
		int over;

		r = readers[i](p, g, o, now_ns);
		over = check_bytes(p, g);
		r = r < 0 ? go_target_reason(&o->target, &g->id, r) : over;
		if (r < 0)
			count_failure(p, r);
		if (r == -ESRCH)
			return r;
		if (first == 0)
			first = r;
	}
	return first;
}

/* Its block profiler has been on for long enough. What cannot be ended now is tried again in its next turn. */
static int end_burst(struct go_profiler *p, struct go_process *g, uint64_t now_ns)
{
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	int r = go_reader_open(p->reader, &g->id, &o);

	if (r == 0)
		r = check_image(p, g, o);
	if (r == 0)
		r = g->burst_end_ns != 0 ? read_block(p, g, o, now_ns) : 0;
	else
		count_failure(p, r);
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

static void do_process(struct go_profiler *p, struct go_process *g)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool is_turn = !is_burst_end(g);
	int r = is_turn ? read_process(p, g, now_ns) : end_burst(p, g, now_ns);

	if (r == -ESRCH) {
		go_processes_remove(p->processes, g);
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
		go_processes_done(p->processes, g, now_ns, r < 0);
}

/* ---- turns ---- */

static uint64_t scan_period_ns(const struct go_profiler *p)
{
	uint64_t ns = p->cfg.interval_ns / SCANS_PER_INTERVAL;

	return ns < SCAN_MIN_NS ? SCAN_MIN_NS : ns > SCAN_MAX_NS ? SCAN_MAX_NS : ns;
}

static void at_process(void *ctx, pid_t pid)
{
	set_position(ctx, true, &(struct program_id){.pid = pid});
}

/* An abandoned one finds out no more about files. */
static int detect(void *ctx, const struct program_id *id)
{
	struct go_profiler *p = ctx;

	if (worker_thread_is_abandoned(p->thread))
		return -ECANCELED;
	return go_reader_detect(p->reader, id);
}

static int libraries(void *ctx, const struct program_id *id, struct file_id *keys, size_t max)
{
	struct go_profiler *p = ctx;
	int n;

	if (worker_thread_is_abandoned(p->thread))
		return -ECANCELED;
	n = go_reader_libraries(p->reader, id, keys, max);
	metric_add(&p->metrics->of[GO_METRIC_LOOKS_FAILED],
		   (n < 0 && n != -ESRCH) || n == (int)max);
	return n;
}

/* What there is now is said by the one that is not abandoned. */
static void set_gauge(struct go_profiler *p, enum go_metric gauge, uint64_t v)
{
	if (!worker_thread_enter(p->thread))
		return;
	metric_set(&p->metrics->of[gauge], v);
	worker_thread_leave(p->thread);
}

/* Without the right to look at processes of others there is nothing to be seen here but silence. */
static void tell_denied(struct go_profiler *p)
{
	size_t n = go_processes_denied(p->processes);

	set_gauge(p, GO_METRIC_PROCESSES_DENIED, n);
	if (n > 0 && !p->denied)
		log_warn("whether processes are Go's may not be seen",
			 "processes=%zu needs=CAP_SYS_PTRACE", n);
	p->denied = n > 0;
}

static void scan(struct go_profiler *p, uint64_t now_ns)
{
	int r;

	set_position(p, true, NULL);
	r = go_processes_scan(p->processes, now_ns);
	if (worker_thread_is_abandoned(p->thread))
		return;
	if (r < 0)
		log_warn_limited("cannot look for Go processes", "error=\"%s\"", strerror(-r));
	tell_denied(p);
	go_counters_expire(p->metrics->counters, now_ns);
	p->next_scan_ns = now_ns + scan_period_ns(p);
}

/* Does what is due, and says for how long nothing will be. */
static uint64_t turn(struct go_profiler *p)
{
	uint64_t now_ns = clock_monotonic_ns(), next_ns;
	struct go_process *g;

	if (now_ns >= p->next_scan_ns)
		scan(p, now_ns);
	g = go_processes_next(p->processes);
	if (g && go_process_next_ns(g) <= now_ns && !worker_thread_must_end(p->thread)) {
		set_position(p, true, &g->id);
		do_process(p, g);
		g = go_processes_next(p->processes);
	}
	set_position(p, false, NULL);
	set_gauge(p, GO_METRIC_PROCESSES, go_processes_count(p->processes));
	next_ns = p->next_scan_ns;
	if (g && go_process_next_ns(g) < next_ns)
		next_ns = go_process_next_ns(g);
	now_ns = clock_monotonic_ns();
	return next_ns > now_ns ? next_ns - now_ns : 0;
}

/* ---- the end ---- */

/* The first error. */
static int restore_process(struct go_profiler *p, struct go_process *g)
{
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	int r = go_reader_open(p->reader, &g->id, &o), heap = 0;

	if (r < 0)
		return r;
	if (p->cfg.heap_restore && g->is_ours)
		heap = heap_force(o->runtime, &g->id, HEAP_FORCE_OFF);
	metric_add(&p->metrics->of[GO_METRIC_RESTORED], heap > 0);
	r = go_locks_restore(&p->locks, g, o);
	return go_target_reason(&o->target, &g->id, heap < 0 ? heap : r);
}

/* One before this may have switched on what this has not seen yet. */
static void claim(const struct go_profiler *p, struct go_process *g)
{
	if (!p->past.any || g->image != 0 || g->start != BUCKET_HISTORY_FROM_NOW)
		return;
	g->is_ours = true;
	go_locks_claim(&p->locks, g);
}

/* What this and earlier agents have switched on. pid: of all (0), or of one alone. */
static void restore(struct go_profiler *p, pid_t pid)
{
	if (p->past.any && p->next_scan_ns == 0)
		scan(p, clock_monotonic_ns());
	for (struct go_process *g = go_processes_each(p->processes, NULL); g;
	     g = go_processes_each(p->processes, g)) {
		int r = 0;

		if (pid != 0 && g->id.pid != pid)
			continue;
		claim(p, g);
		set_position(p, true, &g->id);
		if ((p->cfg.heap_restore && g->is_ours) || go_locks_any_ours(g))
			r = restore_process(p, g);
		if (r < 0)
			count_failure(p, r);
		if (r < 0 && r != -ESRCH)
			log_warn_limited("cannot switch a profiler off again",
					 "pid=%d error=\"%s\"", (int)g->id.pid, strerror(-r));
	}
}

void go_profiler_run(struct go_profiler *p, struct worker_thread *t)
{
	uint64_t told_ns = 0;

	p->thread = t;
	while (!worker_thread_must_end(t)) {
		uint64_t wait_ns = turn(p);
		uint64_t cpu_ns = clock_thread_cpu_ns();

		metric_add(&p->metrics->of[GO_METRIC_CPU_NS], cpu_ns - told_ns);
		told_ns = cpu_ns;
		worker_thread_wait(t, wait_ns);
	}
	if (!worker_thread_is_abandoned(t))
		restore(p, 0);
	else if (p->last_pid != 0)
		restore(p, p->last_pid);
}

void go_profiler_came_back(struct go_profiler *p)
{
	metric_add(&p->metrics->of[GO_METRIC_STUCK], (uint64_t)-1);
}

/* ---- life ---- */

static int make_reader(struct go_profiler *p, struct err *err)
{
	const char *root = p->cfg.proc_root;
	int r = go_reader_new(&p->reader, root);

	if (r < 0)
		return err_set(err, r, "open %s: %s", root ? root : "/proc", strerror(-r));

	const struct go_processes_config processes = {
		.root_fd = go_reader_root(p->reader),
		.interval_ns = p->cfg.interval_ns,
		.detect = detect,
		.ctx = p,
		.libraries = libraries,
		.at = at_process,
		.left_out = p->past.left_out,
		.n_left_out = p->past.n_left_out,
		.seen_ticks = p->past.seen_ticks,
	};
	return go_processes_new(&p->processes, &processes);
}

int go_profiler_new(struct go_profiler **ret, const struct go_profiler_config *cfg,
		    const struct go_profiler_owner *owner, const struct go_profiler_past *past,
		    struct err *err)
{
	CLEANUP(go_profiler_freep) struct go_profiler *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->cfg = *cfg;
	if (p->cfg.history_max_bytes == 0)
		p->cfg.history_max_bytes = GO_PROFILER_HISTORY_BYTES;
	p->owner = *owner;
	p->past = *past;
	p->metrics = go_metrics_ref(owner->metrics);
	pthread_mutex_init(&p->position_lock, NULL);
	go_locks_init(&p->locks, p->metrics->locks, &cfg->locks);
	r = make_reader(p, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

void go_profiler_free(struct go_profiler *p)
{
	if (!p)
		return;
	go_processes_free(p->processes);
	go_reader_free(p->reader);
	go_metrics_unref(p->metrics);
	pthread_mutex_destroy(&p->position_lock);
	free(p);
}
