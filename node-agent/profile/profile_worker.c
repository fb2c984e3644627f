#include "node-agent/profile/profile_worker.h"

#include <errno.h>
#include <malloc.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/thread/queue.h"
#include "common/thread/worker_thread.h"
#include "node-agent/sample/cycle.h"
#include "node-agent/symbol/symbolizer.h"

/* One cycle in work and one that waits: a worker slower than that loses cycles, which are counted. */
#define MAX_JOBS 2
/* Profiles of one cycle that wait for the loop; there are as many as there are workloads. */
#define MAX_RESULTS 16384

struct job {
	struct cycle *cycle;
	int64_t end_ns;
	int64_t duration_ns;
};

struct result {
	struct workload *workload;
	struct buf pprof;
};

enum worker_metric {
	SAMPLES,
	SAMPLES_TRUNCATED,
	SAMPLES_LOST,
	PROFILES,
	PROFILES_LOST,
	CPU_NS,
	WORKER_METRIC_MAX,
};

struct profile_worker {
	struct profile_worker_config cfg;
	struct symbolizer *symbolizer; /* the thread's, once it runs */
	struct queue *jobs;            /* struct job */
	struct queue *results;         /* struct result */
	struct loop_source *wake;
	struct worker_thread *thread;
	_Atomic unsigned n_done; /* cycles finished and not yet reported */
	unsigned n_pending;      /* of the loop thread */
	struct metric metrics[WORKER_METRIC_MAX];
};

static const struct metric_def metric_defs[WORKER_METRIC_MAX] = {
	[SAMPLES] = {.name = "coroot_node_agent_samples_profiled_total",
		     .help = "Samples in finished profiles"},
	[SAMPLES_TRUNCATED] = {.name = "coroot_node_agent_samples_truncated_total",
			       .help = "Samples in finished profiles whose stack is not known to "
				       "be whole"},
	[SAMPLES_LOST] = {.name = "coroot_node_agent_samples_unprofiled_total",
			  .help = "Samples that could not be put into a profile"},
	[PROFILES] = {.name = "coroot_node_agent_profiles_total",
		      .help = "Profiles made, one per workload and interval"},
	[PROFILES_LOST] = {.name = "coroot_node_agent_profiles_lost_total",
			   .help = "Profiles made that the agent had no memory or room for"},
	[CPU_NS] = {.name = "coroot_node_agent_profile_cpu_seconds_total",
		    .help = "CPU time spent on naming addresses and encoding profiles",
		    .scale = 1e-9},
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

static void pass_on(void *ctx, const struct workload_profile *p)
{
	CLEANUP(result_freep) struct result *r = calloc(1, sizeof(*r));
	struct profile_worker *w = ctx;

	if (!r) {
		metric_add(&w->metrics[PROFILES_LOST], 1);
		return;
	}
	r->workload = workload_ref(p->workload);
	buf_init(&r->pprof, p->pprof->limit);
	r->pprof = *p->pprof;
	buf_init(p->pprof, r->pprof.limit);
	if (queue_push(w->results, r) < 0) {
		metric_add(&w->metrics[PROFILES_LOST], 1);
		return;
	}
	(void)TAKE_PTR(r);
	metric_add(&w->metrics[PROFILES], 1);
	loop_wake(w->wake);
}

static void do_job(struct profile_worker *w, const struct job *j)
{
	const struct cpu_profile_config cfg = {w->cfg.hz, j->end_ns, j->duration_ns};
	uint64_t started_ns = clock_thread_cpu_ns();
	struct cpu_profile_result res;

	cpu_profile_build(j->cycle, w->symbolizer, &cfg, pass_on, w, &res);
	symbolizer_end_cycle(w->symbolizer);
	metric_add(&w->metrics[SAMPLES], res.n_samples);
	metric_add(&w->metrics[SAMPLES_TRUNCATED], res.n_truncated);
	metric_add(&w->metrics[SAMPLES_LOST], res.n_lost);
	metric_add(&w->metrics[CPU_NS], clock_thread_cpu_ns() - started_ns);
}

static void run(void *ctx, struct worker_thread *t)
{
	struct profile_worker *w = ctx;
	struct job *j;

	(void)t;
	while ((j = queue_pop(w->jobs))) {
		do_job(w, j);
		job_free(j);
		malloc_trim(0); /* a cycle is large and the next one is an interval away */
		atomic_fetch_add(&w->n_done, 1);
		loop_wake(w->wake);
	}
}

/* On the loop thread. */
static void on_wake(void *ctx)
{
	struct profile_worker *w = ctx;
	/* read before the results: everything of these cycles is in the queue by then */
	unsigned n_done = atomic_exchange(&w->n_done, 0);
	struct result *r;

	while ((r = queue_pop_timeout(w->results, 0))) {
		const struct workload_profile p = {r->workload, &r->pprof};

		w->cfg.on_profile(w->cfg.ctx, &p);
		result_free(r);
	}
	for (; n_done > 0; n_done--) {
		w->n_pending--;
		w->cfg.on_cycle_done(w->cfg.ctx);
	}
}

int profile_worker_new(struct profile_worker **ret, struct loop *l,
		       const struct profile_worker_config *cfg)
{
	CLEANUP(profile_worker_freep) struct profile_worker *w = calloc(1, sizeof(*w));
	const struct worker_thread_config thread = {
		.name = "symbolize", .run = run, .ctx = w, .nice = WORKER_THREAD_NICE_BACKGROUND};
	int r;

	if (!w)
		return -ENOMEM;
	w->cfg = *cfg;

	r = symbolizer_new(&w->symbolizer, &(struct symbolizer_config){0});
	if (r == 0)
		r = queue_new(&w->jobs, MAX_JOBS);
	if (r == 0)
		r = queue_new(&w->results, MAX_RESULTS);
	if (r == 0)
		r = loop_add_wake(l, on_wake, w, &w->wake);
	if (r == 0)
		r = worker_thread_start(&w->thread, &thread);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

void profile_worker_free(struct profile_worker *w)
{
	struct result *r;
	struct job *j;

	if (!w)
		return;
	if (w->thread) {
		/* what waits is not begun any more */
		while ((j = queue_pop_timeout(w->jobs, 0)))
			job_free(j);
		queue_close(w->jobs);
	}
	worker_thread_join(w->thread, UINT64_MAX);
	while (w->results && (r = queue_pop_timeout(w->results, 0)))
		result_free(r);
	loop_remove(w->wake);
	queue_free(w->jobs);
	queue_free(w->results);
	symbolizer_free(w->symbolizer);
	free(w);
}

int profile_worker_adopt(struct profile_worker *w, struct cycle *c, int64_t end_ns,
			 int64_t duration_ns)
{
	AUTO_FREE struct job *j = malloc(sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	*j = (struct job){c, end_ns, duration_ns};
	r = queue_push(w->jobs, j);
	if (r < 0)
		return r;
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
