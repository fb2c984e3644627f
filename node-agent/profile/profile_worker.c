/*
 * Three owners share the work. The loop thread has struct profile_worker: results, metrics,
 * and everything that calls back. The worker thread has struct work: the symbolizer and the
 * jobs. A cycle belongs to whoever holds it.
 *
 * The thread reads files that may not answer, so at the end it is not joined without limit: it
 * is abandoned together with its struct work, which it frees if it ever returns. That is why
 * it touches what belongs to the loop thread only between worker_thread_enter() and
 * worker_thread_leave().
 */
#include "node-agent/profile/profile_worker.h"

#include <errno.h>
#include <malloc.h>

#include "common/system/clock.h"
#include "common/system/code_pages.h"
#include "common/telemetry/log.h"
#include "common/thread/queue.h"
#include "common/thread/worker_thread.h"
#include "node-agent/interpreter/process/interpreter_names.h"
#include "node-agent/sample/cycle.h"
#include "node-agent/symbol/symbolizer.h"

/* One cycle being profiled and one waiting: a slower worker loses cycles, which are counted. */
#define MAX_JOBS 2
/* Profiles of one cycle that wait for the loop; there are as many as there are workloads. */
#define MAX_RESULTS 16384
/* For the cycle being profiled when the agent ends; it has had most of the shutdown until then. */
#define END_NS (500 * NS_PER_MS)
/* A cycle waits so long at most for what is done between two. */
#define WORK_NS (100 * NS_PER_MS)
#define NAMES_WAIT_NS (2 * NS_PER_S) /* for names of interpreters' frames that are being read */

struct job {
	struct cycle *cycle;
	int64_t end_ns;
	int64_t duration_ns;
};

struct result {
	struct workload *workload;
	struct buf pprof;
	uint64_t n_samples;
	uint64_t cost_ns;
};

enum worker_metric {
	SAMPLES,
	SAMPLES_TRUNCATED,
	SAMPLES_LOST,
	PROFILES,
	PROFILES_LOST,
	CPU_NS,
	UNWOUND, /* one for each outcome */
	WORKER_METRIC_MAX = UNWOUND + UNWIND_OUTCOME_MAX,
};

/* What the thread works with. */
struct work {
	struct profile_worker *owner; /* between worker_thread_enter() and _leave() */
	struct worker_thread *thread; /* itself */
	unsigned hz;
	bool addresses;
	bool whole;
	struct symbolizer *symbolizer;
	struct interpreter_names *names;
	struct queue *jobs; /* struct job; pushed by the owner */
};

struct profile_worker {
	struct profile_worker_config cfg;
	struct queue *results; /* struct result */
	struct loop_source *wake;
	struct work *work; /* the thread's, once there is one */
	struct worker_thread *thread;
	_Atomic unsigned n_done;            /* cycles finished and not yet reported */
	_Atomic uint64_t n_samples_waiting; /* of cycles taken and not finished */
	unsigned n_pending;                 /* of the loop thread */
	struct metric metrics[WORKER_METRIC_MAX];
};

#define OUTCOME(name_)                                                                       \
	{                                                                                    \
		.name = "coroot_node_agent_samples_unwound_total",                           \
		.help = "Samples in finished profiles by how the walk over the stack ended", \
		.labels = "end=\"" name_ "\""                                                \
	}

static const struct metric_def metric_defs[WORKER_METRIC_MAX] = {
	[SAMPLES] = {.name = "coroot_node_agent_samples_profiled_total",
		     .help = "Samples in finished profiles"},
	[SAMPLES_TRUNCATED] =
		{.name = "coroot_node_agent_samples_truncated_total",
		 .help = "Samples in finished profiles whose stack may be incomplete"},
	[SAMPLES_LOST] = {.name = "coroot_node_agent_samples_unprofiled_total",
			  .help = "Samples that could not be added to a profile"},
	[PROFILES] = {.name = "coroot_node_agent_profiles_total",
		      .help = "Profiles made, one per workload and interval"},
	[PROFILES_LOST] = {.name = "coroot_node_agent_profiles_lost_total",
			   .help = "Finished profiles dropped for lack of memory or queue space"},
	[CPU_NS] = {.name = "coroot_node_agent_profile_cpu_seconds_total",
		    .help = "CPU time spent on naming addresses and encoding profiles",
		    .scale = 1e-9},
	[UNWOUND + UNWIND_COMPLETE] = OUTCOME("complete"),
	[UNWOUND + UNWIND_GUESSED] = OUTCOME("guessed"),
	[UNWOUND + UNWIND_DEPTH_LIMIT] = OUTCOME("depth_limit"),
	[UNWOUND + UNWIND_UNREADABLE] = OUTCOME("unreadable"),
	[UNWOUND + UNWIND_NOT_ASCENDING] = OUTCOME("not_ascending"),
	[UNWOUND + UNWIND_BAD_ADDRESS] = OUTCOME("bad_address"),
	[UNWOUND + UNWIND_COMPAT] = OUTCOME("compat"),
	[UNWOUND + UNWIND_GONE] = OUTCOME("gone"),
	[UNWOUND + UNWIND_NO_UNWIND_INFO] = OUTCOME("no_unwind_info"),
	[UNWOUND + UNWIND_NO_TABLE] = OUTCOME("no_table"),
	[UNWOUND + UNWIND_NO_MAPPING] = OUTCOME("no_mapping"),
	[UNWOUND + UNWIND_JIT] = OUTCOME("jit"),
	[UNWOUND + UNWIND_IMPLAUSIBLE] = OUTCOME("implausible"),
	[UNWOUND + UNWIND_UNPROVEN] = OUTCOME("unproven"),
	[UNWOUND + UNWIND_KERNEL] = OUTCOME("kernel"),
};
METRIC_TABLE(metric_table, metric_defs);

static void result_free(struct result *r)
{
	if (!r)
		return;
	buf_fini(&r->pprof);
	workload_unref(r->workload);
	free(r);
}
DEFINE_CLEANUP(struct result *, result_free);

static void job_free(struct job *j)
{
	if (!j)
		return;
	cycle_free(j->cycle);
	free(j);
}

static void work_free(struct work *k)
{
	struct job *j;

	if (!k)
		return;
	while (k->jobs && (j = queue_pop_timeout(k->jobs, 0)))
		job_free(j);
	queue_free(k->jobs);
	symbolizer_free(k->symbolizer);
	interpreter_names_unref(k->names);
	free(k);
}
DEFINE_CLEANUP(struct work *, work_free);

/* ---- on the worker thread ---- */

static struct result *make_result(const struct workload_profile *p)
{
	struct result *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->workload = workload_ref(p->workload);
	r->pprof = *p->pprof;
	r->n_samples = p->n_samples;
	r->cost_ns = p->cost_ns;
	buf_init(p->pprof, r->pprof.limit);
	return r;
}

static void pass_on(void *ctx, const struct workload_profile *p)
{
	CLEANUP(result_freep) struct result *r = make_result(p);
	const struct work *k = ctx;
	struct profile_worker *w;

	if (!worker_thread_enter(k->thread))
		return;
	w = k->owner;
	if (!r || queue_push(w->results, r) < 0) {
		metric_add(&w->metrics[PROFILES_LOST], 1);
	} else {
		(void)TAKE_PTR(r);
		metric_add(&w->metrics[PROFILES], 1);
		loop_wake(w->wake);
	}
	worker_thread_leave(k->thread);
}

static void report(const struct work *k, const struct cpu_profile_result *res, uint64_t n_samples,
		   uint64_t cpu_ns)
{
	struct profile_worker *w;

	if (!worker_thread_enter(k->thread))
		return;
	w = k->owner;
	metric_add(&w->metrics[SAMPLES], res->n_samples);
	metric_add(&w->metrics[SAMPLES_TRUNCATED], res->n_truncated);
	metric_add(&w->metrics[SAMPLES_LOST], res->n_lost);
	metric_add(&w->metrics[CPU_NS], cpu_ns);
	for (enum unwind_outcome o = 0; o < UNWIND_OUTCOME_MAX; o++)
		metric_add(&w->metrics[UNWOUND + o], res->n_by_outcome[o]);
	atomic_fetch_sub(&w->n_samples_waiting, n_samples);
	atomic_fetch_add(&w->n_done, 1);
	loop_wake(w->wake);
	worker_thread_leave(k->thread);
}

static void add_comments(void *ctx, const struct workload *w, struct cpu_profile_comments *ret)
{
	const struct work *k = ctx;

	ret->n = 0;
	if (!worker_thread_enter(k->thread))
		return;
	if (k->owner->cfg.comments)
		k->owner->cfg.comments(k->owner->cfg.ctx, w, ret);
	worker_thread_leave(k->thread);
}

static int find_name(void *ctx, const struct process_snapshot *s, const struct interpreter_frame *f,
		     struct interpreter_name *ret)
{
	return interpreter_names_find(ctx, s, f, ret);
}

static void do_job(struct work *k, struct job *j)
{
	const struct cpu_profile_config cfg = {
		.hz = k->hz,
		.addresses = k->addresses,
		.whole = k->whole,
		.end_ns = j->end_ns,
		.duration_ns = j->duration_ns,
		.comments = add_comments,
		.comments_ctx = k,
		.find_name = k->names ? find_name : NULL,
		.name_ctx = k->names,
	};
	uint64_t started_ns = clock_thread_cpu_ns(), n_samples = cycle_n_samples(j->cycle), cpu_ns;
	struct cpu_profile_result res;

	cycle_seal(j->cycle);
	if (k->names)
		interpreter_names_wait(k->names, NAMES_WAIT_NS);
	cpu_profile_build(j->cycle, k->symbolizer, &cfg, pass_on, k, &res);
	if (k->names)
		interpreter_names_end_cycle(k->names);
	symbolizer_end_cycle(k->symbolizer);
	cpu_ns = clock_thread_cpu_ns() - started_ns;
	job_free(j);
	/* a cycle is large and the next one is an interval away */
	malloc_trim(0);
	code_pages_release();
	report(k, &res, n_samples, cpu_ns);
}

/* The next cycle; NULL at the end. Until it comes, the symbolizer does what the last one left. */
static struct job *next_job(struct work *k)
{
	struct job *j = queue_pop_timeout(k->jobs, 0);
	bool more = true;

	while (!j && more && !queue_is_closed(k->jobs)) {
		more = symbolizer_work(k->symbolizer, WORK_NS);
		j = queue_pop_timeout(k->jobs, 0);
	}
	return j ?: queue_pop(k->jobs);
}

static void run(void *ctx, struct worker_thread *t)
{
	struct work *k = ctx;
	struct job *j;

	k->thread = t;
	while ((j = next_job(k)))
		do_job(k, j);
}

static void free_work(void *ctx, bool abandoned)
{
	(void)abandoned;
	work_free(ctx);
}

/* ---- on the loop thread ---- */

static void on_wake(void *ctx)
{
	struct profile_worker *w = ctx;
	/* read before the results: all profiles of these cycles are in the queue by then */
	unsigned n_done = atomic_exchange(&w->n_done, 0);
	struct result *r;

	while ((r = queue_pop_timeout(w->results, 0))) {
		const struct workload_profile p = {r->workload, &r->pprof, r->n_samples,
						   r->cost_ns};

		w->cfg.on_profile(w->cfg.ctx, &p);
		result_free(r);
	}
	for (; n_done > 0; n_done--) {
		w->n_pending--;
		w->cfg.on_cycle_done(w->cfg.ctx);
	}
}

static int make_work(struct profile_worker *w)
{
	const struct symbolizer_config symbols = {
		.proc_root = w->cfg.proc_root,
		.line_numbers = w->cfg.line_numbers,
		.line_patience = w->cfg.line_patience,
		.line_program = w->cfg.line_program,
		.debuginfod = w->cfg.debuginfod,
	};
	CLEANUP(work_freep) struct work *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	k->owner = w;
	k->hz = w->cfg.hz;
	k->addresses = w->cfg.addresses;
	k->whole = w->cfg.whole;
	k->names = interpreter_names_ref(w->cfg.names);
	r = symbolizer_new(&k->symbolizer, &symbols);
	if (r == 0)
		r = queue_new(&k->jobs, MAX_JOBS);
	if (r < 0)
		return r;
	w->work = TAKE_PTR(k);
	return 0;
}

static int start(struct profile_worker *w)
{
	const struct worker_thread_config thread = {
		.name = "symbolize",
		.run = run,
		.free = free_work,
		.ctx = w->work,
		/* somebody waits for a recording */
		.nice = w->cfg.whole ? 0 : WORKER_THREAD_NICE_BACKGROUND,
	};

	return worker_thread_start(&w->thread, &thread);
}

int profile_worker_new(struct profile_worker **ret, struct loop *l,
		       const struct profile_worker_config *cfg)
{
	CLEANUP(profile_worker_freep) struct profile_worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->cfg = *cfg;

	r = make_work(w);
	if (r == 0)
		r = queue_new(&w->results, MAX_RESULTS);
	if (r == 0)
		r = loop_add_wake(l, on_wake, w, &w->wake);
	if (r == 0)
		r = start(w);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

/* The thread frees w->work; without one it is freed here. */
static void end_thread(struct profile_worker *w)
{
	struct queue *jobs;
	struct job *j;

	if (!w->thread) {
		work_free(w->work);
		return;
	}
	jobs = w->work->jobs;
	while ((j = queue_pop_timeout(jobs, 0))) /* what waits is not begun */
		job_free(j);
	queue_close(jobs);
	if (worker_thread_join(w->thread, END_NS) == 0)
		return;
	log_warn("naming the addresses of the last samples takes too long: gave up on their "
		 "profiles",
		 "intervals=%u samples=%llu", w->n_pending,
		 (unsigned long long)atomic_load(&w->n_samples_waiting));
	(void)worker_thread_abandon(w->thread);
}

void profile_worker_free(struct profile_worker *w)
{
	struct result *r;

	if (!w)
		return;
	end_thread(w);
	while (w->results && (r = queue_pop_timeout(w->results, 0)))
		result_free(r);
	loop_remove(w->wake);
	queue_free(w->results);
	free(w);
}

int profile_worker_adopt(struct profile_worker *w, struct cycle *c, int64_t end_ns,
			 int64_t duration_ns)
{
	AUTO_FREE struct job *j = malloc(sizeof(*j));
	uint64_t n_samples = cycle_n_samples(c);
	int r;

	if (!j)
		return -ENOMEM;
	*j = (struct job){c, end_ns, duration_ns};
	atomic_fetch_add(&w->n_samples_waiting, n_samples);
	r = queue_push(w->work->jobs, j);
	if (r < 0) {
		atomic_fetch_sub(&w->n_samples_waiting, n_samples);
		return r;
	}
	(void)TAKE_PTR(j);
	w->n_pending++;
	return 0;
}

unsigned profile_worker_pending(const struct profile_worker *w)
{
	return w->n_pending;
}

int profile_worker_register_metrics(struct profile_worker *w, struct metrics *ms)
{
	int r;

	r = metrics_register(ms, &metric_table, w->metrics, NULL);
	return r == 0 ? symbolizer_register_metrics(ms) : r;
}
