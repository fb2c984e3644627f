/*
 * A worker pool whose clients share its threads: nobody who asks much makes others wait long.
 *
 *	submit ──► [waiting jobs of each client] ──► N threads: run(ctx, job)
 *
 * The next job is one of the client that has the fewest running, and of those the one whose last
 * job began first. A client can have only so many running, whether others wait or not: a thread
 * that runs a long job cannot be given to somebody who comes later.
 *
 * A job whose client has left while it waited is run at once, on a thread that is kept for such
 * jobs, so that it neither counts against others nor keeps what it holds. run() is told so, and
 * must be quick with it.
 *
 * A client is a number that the caller makes up, such as the hash of an address.
 */
#ifndef COMMON_THREAD_FAIR_POOL_H
#define COMMON_THREAD_FAIR_POOL_H

#include "common/base.h"

struct fair_pool;
struct fair_client;

/* Part of the caller's job, zeroed; it belongs to the pool from submit until run() is called. */
struct fair_job {
	struct fair_job *next;
	struct fair_client *client;
	bool waiting;
	bool left; /* fair_pool_leave() was called */
};

struct fair_pool_config {
	const char *name; /* of the threads, at most 15 characters; NULL: the program's name */
	unsigned n_threads;
	unsigned max_running_per_client;
	unsigned max_waiting; /* of all clients */
	unsigned max_waiting_per_client;
	/* Runs on a thread of the pool, and may free the job. left: its client has left. */
	void (*run)(void *ctx, struct fair_job *job, bool left);
	void *ctx;
};

/* Starts the threads. Returns 0, -ENOMEM, -EINVAL if a number of cfg is 0, or -EAGAIN. */
int fair_pool_new(struct fair_pool **ret, const struct fair_pool_config *cfg) MUST_CHECK;
/* Refuses further jobs, runs those that wait, and joins the threads. May be repeated. */
void fair_pool_stop(struct fair_pool *p);
/* Stops p first. NULL is allowed. */
void fair_pool_free(struct fair_pool *p);
DEFINE_CLEANUP(struct fair_pool *, fair_pool_free);

/* ---- from any thread; these do not block ---- */

/* Returns 0, -EAGAIN if max_waiting jobs wait, -EDQUOT for those of the client, or -EPIPE. */
int fair_pool_submit(struct fair_pool *p, struct fair_job *job, uint64_t client) MUST_CHECK;
/* The job's client has left. Before, during or after submit; run() has not returned. */
void fair_pool_leave(struct fair_pool *p, struct fair_job *job);

unsigned fair_pool_n_waiting(struct fair_pool *p);
unsigned fair_pool_n_running(struct fair_pool *p);

#endif /* COMMON_THREAD_FAIR_POOL_H */
