/*
 * Threads that take jobs from one bounded queue: how everything that may block or compute for long
 * stays off the loop and the HTTP server's threads.
 *
 *	submit ──► [queue, bounded] ──► N threads: run(ctx, job, arena)
 *
 * A job is a pointer; it belongs to the pool once it is submitted and to run() when it is run. Jobs
 * are started oldest first. What happens with the result is run()'s concern: an HTTP exchange is
 * answered, or the job is pushed to a queue of results and the loop is woken.
 */
#ifndef COMMON_THREAD_WORKER_POOL_H
#define COMMON_THREAD_WORKER_POOL_H

#include "common/base.h"
#include "common/data/arena.h"

struct worker_pool;

struct worker_pool_config {
	const char *name; /* of the threads, at most 15 characters; NULL: the program's name */
	unsigned n_threads;
	size_t max_queued;  /* jobs that wait for a thread */
	size_t arena_bytes; /* limit of each thread's arena; 0 if run needs none */
	/*
	 * Runs on a thread of the pool, with up to n_threads - 1 others at the same time. arena
	 * is the thread's own, limited to arena_bytes, and is cleared after each job.
	 */
	void (*run)(void *ctx, void *job, struct arena *arena);
	void *ctx;
};

/* Makes the queue but no thread yet. Returns 0, -ENOMEM, or -EINVAL if a number of cfg is 0. */
int worker_pool_new(struct worker_pool **ret, const struct worker_pool_config *cfg) MUST_CHECK;

/*
 * Starts the threads that do not run yet; may be repeated. Returns 0 if all of them run, or
 * -EAGAIN or -ENOMEM if a thread could not be started; those of before run on.
 */
int worker_pool_start(struct worker_pool *p) MUST_CHECK;

/*
 * Refuses further jobs, lets the threads run those that wait, and joins the threads, without a time
 * limit: the owner ends what blocks them. May be repeated.
 */
void worker_pool_stop(struct worker_pool *p);

/* Stops p first. The caller has taken the jobs of a pool without a thread. NULL is allowed. */
void worker_pool_free(struct worker_pool *p);
DEFINE_CLEANUP(struct worker_pool *, worker_pool_free);

/* ---- from any thread ---- */

/* Returns 0, -EAGAIN if max_queued jobs wait, or -EPIPE after worker_pool_stop(). Never blocks. */
int worker_pool_submit(struct worker_pool *p, void *job) MUST_CHECK;

/*
 * Takes the oldest job that waits, which is then the caller's: for run() to do several at once,
 * or for the owner to drop what waits before it stops the pool. Returns NULL after timeout_ns
 * without one.
 */
void *worker_pool_take(struct worker_pool *p, uint64_t timeout_ns);

/* Number of jobs that wait. */
size_t worker_pool_queued(struct worker_pool *p);

/* ---- from the thread that starts and stops it ---- */

unsigned worker_pool_threads(const struct worker_pool *p);

#endif /* COMMON_THREAD_WORKER_POOL_H */
