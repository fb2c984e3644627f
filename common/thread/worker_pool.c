/*
 * N worker threads (worker_thread.h) that pop the same queue (queue.h) until it is closed and
 * empty.
 *
 * A pool belongs to one kind of job, and every stage has its own: a shared pool of the whole
 * program would let slow SQL queries take the threads that uploads need, and each stage wants a
 * bound and an answer of its own for when it is overloaded.
 *
 * Stopping drains: what was accepted is run, or refused by run() itself, which alone knows how
 * to answer it. So there is no list of jobs to give back and nobody waits for an answer
 * forever.
 */
#include "common/thread/worker_pool.h"

#include <errno.h>

#include "common/thread/queue.h"
#include "common/thread/worker_thread.h"

struct worker_pool {
	struct worker_pool_config cfg;
	struct queue *jobs;
	unsigned n_running;
	struct worker_thread *threads[];
};

static void run_jobs(void *ctx, struct worker_thread *t)
{
	struct worker_pool *p = ctx;
	CLEANUP(arena_fini) struct arena arena;
	void *job;

	(void)t;
	arena_init(&arena, p->cfg.arena_bytes);
	while ((job = queue_pop(p->jobs))) {
		p->cfg.run(p->cfg.ctx, job, &arena);
		arena_clear(&arena);
	}
}

int worker_pool_new(struct worker_pool **ret, const struct worker_pool_config *cfg)
{
	CLEANUP(worker_pool_freep) struct worker_pool *p = NULL;
	int r;

	if (cfg->n_threads == 0)
		return -EINVAL;
	p = calloc(1, sizeof(*p) + cfg->n_threads * sizeof(struct worker_thread *));
	if (!p)
		return -ENOMEM;
	p->cfg = *cfg;
	r = queue_new(&p->jobs, cfg->max_queued);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

int worker_pool_start(struct worker_pool *p)
{
	const struct worker_thread_config thread = {
		.name = p->cfg.name,
		.run = run_jobs,
		.ctx = p,
	};

	for (; p->n_running < p->cfg.n_threads; p->n_running++) {
		int r = worker_thread_start(&p->threads[p->n_running], &thread);

		if (r < 0)
			return r;
	}
	return 0;
}

void worker_pool_stop(struct worker_pool *p)
{
	queue_close(p->jobs);
	for (; p->n_running > 0; p->n_running--)
		(void)worker_thread_join(p->threads[p->n_running - 1], UINT64_MAX);
}

void worker_pool_free(struct worker_pool *p)
{
	if (!p)
		return;
	if (p->jobs)
		worker_pool_stop(p);
	queue_free(p->jobs);
	free(p);
}

int worker_pool_submit(struct worker_pool *p, void *job)
{
	return queue_push(p->jobs, job);
}

void *worker_pool_take(struct worker_pool *p, uint64_t timeout_ns)
{
	return queue_pop_timeout(p->jobs, timeout_ns);
}

size_t worker_pool_queued(struct worker_pool *p)
{
	return queue_count(p->jobs);
}

unsigned worker_pool_threads(const struct worker_pool *p)
{
	return p->n_running;
}
