/*
 * Decoding a heap profile takes tens of milliseconds, too long for the loop thread that also
 * serves health checks and hundreds of requests. Conversions therefore run in a worker pool,
 * one arena per thread.
 *
 * Ownership moves with the queues: a conversion belongs to the pool from scrape_worker_adopt()
 * until it comes back through scrape_worker_take(), so nothing in it needs a lock. The one
 * exception is the flag that its result is no longer wanted, which is atomic. The queue of
 * results has space for everything that was adopted, so a worker never waits for the loop.
 */
#include "cluster-agent/scrape/scrape_worker.h"

#include <errno.h>

#include "cluster-agent/scrape/scrape_answer.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "common/thread/queue.h"
#include "common/thread/worker_pool.h"

#define MAX_THREADS 16u

struct scrape_worker {
	struct worker_pool *pool;
	struct queue *results;
	struct loop_source *done; /* borrowed */
	size_t n_adopted;         /* conversions not taken yet; used by the caller's thread only */
	size_t max_adopted;
};

void scrape_conversion_fini(struct scrape_conversion *c)
{
	buf_fini(&c->body);
	buf_fini(&c->upload);
	profile_baseline_fini(&c->baseline);
}

static int convert(struct scrape_conversion *c, struct arena *arena)
{
	bool refused = c->body.len > 0 && scrape_answer_is_go_text(c->body.data, c->body.len);
	struct profile p;
	int r = refused ? -EBADMSG : pprof_decode(&p, arena, c->body.data, c->body.len, &c->err);

	if (r == -EBADMSG)
		return scrape_answer_explain(c->body.data, c->body.len, &c->err);
	/* all that is needed of the body is in the arena now */
	buf_fini(&c->body);
	if (r == 0)
		r = scraped_profile_convert(&p, &c->baseline, &c->info, &c->restarted, &c->err);
	if (r == 0)
		c->losses = p.losses;
	if (r < 0 || p.n_types == 0 || p.n_samples == 0)
		return r;
	r = pprof_encode(&p, &c->upload);
	return r == -EFBIG ? err_set(&c->err, r, "the profile is too large to upload") : r;
}

void scrape_conversion_run(struct scrape_conversion *c, struct arena *arena)
{
	uint64_t started_ns = clock_thread_cpu_ns();

	arena_clear(arena);
	buf_init(&c->upload, LIMIT_UPLOAD_BYTES);
	c->restarted = false;
	c->losses = (struct profile_losses){.n = {0}};
	c->err.msg[0] = '\0';
	c->error = atomic_load(&c->unwanted) ? -ECANCELED : convert(c, arena);
	buf_fini(&c->body);
	if (c->error < 0)
		buf_fini(&c->upload);
	arena_clear(arena);
	c->cpu_ns = clock_thread_cpu_ns() - started_ns;
}

static void run(void *ctx, void *job, struct arena *arena)
{
	struct scrape_worker *w = ctx;
	struct scrape_conversion *c = job;

	scrape_conversion_run(c, arena);
	/* there is space for all that were adopted: see scrape_worker_adopt() */
	if (queue_push(w->results, c) < 0)
		abort();
	loop_wake(w->done);
}

int scrape_worker_new(struct scrape_worker **ret, unsigned n_threads, size_t max_queued,
		      struct loop_source *done)
{
	struct scrape_worker *w = calloc(1, sizeof(*w));
	const struct worker_pool_config pool = {
		.name = "scrape",
		.n_threads = n_threads < 1             ? 1
			     : n_threads > MAX_THREADS ? MAX_THREADS
						       : n_threads,
		.max_queued = max_queued,
		.arena_bytes = LIMIT_PPROF_ARENA_BYTES,
		.run = run,
		.ctx = w,
	};
	int r;

	if (!w)
		return -ENOMEM;
	w->done = done;
	w->max_adopted = max_queued;
	r = worker_pool_new(&w->pool, &pool);
	if (r == 0)
		r = queue_new(&w->results, max_queued);
	if (r < 0) {
		worker_pool_free(w->pool);
		free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void scrape_worker_free(struct scrape_worker *w, void (*release)(struct scrape_conversion *c))
{
	struct scrape_conversion *c;

	if (!w)
		return;
	/* drop the conversions that have not started */
	while ((c = worker_pool_take(w->pool, 0)))
		release(c);
	worker_pool_free(w->pool);
	while ((c = queue_pop_timeout(w->results, 0)))
		release(c);
	queue_free(w->results);
	free(w);
}

int scrape_worker_adopt(struct scrape_worker *w, struct scrape_conversion *c)
{
	int r = worker_pool_start(w->pool);

	/* one thread suffices; the others may start later */
	if (r < 0 && worker_pool_threads(w->pool) == 0)
		return r;
	if (w->n_adopted == w->max_adopted)
		return -EAGAIN;
	r = worker_pool_submit(w->pool, c);
	if (r == 0)
		w->n_adopted++;
	return r;
}

struct scrape_conversion *scrape_worker_take(struct scrape_worker *w)
{
	struct scrape_conversion *c = queue_pop_timeout(w->results, 0);

	if (c)
		w->n_adopted--;
	return c;
}
