/*
 * A thread that works for another one, its owner. One that does not come back, as from a read that nobody answers, can be
 * abandoned: it then ends when it can, and frees what it works with itself.
 *
 * The owner's functions are called by one thread.
 */
#ifndef COMMON_THREAD_WORKER_THREAD_H
#define COMMON_THREAD_WORKER_THREAD_H

#include "common/base.h"

struct worker_thread;

struct worker_thread_config {
	const char *name; /* at most 15 characters */
	/* The work: returns when worker_thread_must_end() says so, or when it has found out otherwise. */
	void (*run)(void *ctx, struct worker_thread *t);
	/* After run, on the owner's thread, or on an abandoned one itself. NULL: ctx stays the owner's. */
	void (*free)(void *ctx, bool abandoned);
	void *ctx;
};

/* Takes ctx on success. -ENOMEM; -EAGAIN: no thread. */
int worker_thread_start(struct worker_thread **ret,
			const struct worker_thread_config *cfg) MUST_CHECK;

/* ---- the owner's ---- */

/* Asks it to end, without waiting for that. */
void worker_thread_stop(struct worker_thread *t);

/*
 * The same, and waits for it; UINT64_MAX: as long as it takes. 0: it has ended, and t and ctx are freed; -ETIMEDOUT. NULL is
 * allowed.
 */
int worker_thread_join(struct worker_thread *t, uint64_t timeout_ns);

/* t is its own from now on. False: it has just ended, and all is freed. */
bool worker_thread_abandon(struct worker_thread *t);

/* What it has used so far; 0: not known. */
uint64_t worker_thread_cpu_ns(const struct worker_thread *t);

/* ---- its own ---- */

/* It was asked to, or abandoned. */
bool worker_thread_must_end(struct worker_thread *t);
bool worker_thread_is_abandoned(struct worker_thread *t);

/* Does nothing for a while, or until it must end. */
void worker_thread_wait(struct worker_thread *t, uint64_t ns);

/*
 * Before it touches what is its owner's: true until worker_thread_leave(), for which worker_thread_abandon() waits. False: it is
 * abandoned, and may not.
 */
bool worker_thread_enter(struct worker_thread *t) MUST_CHECK;
void worker_thread_leave(struct worker_thread *t);

#endif /* COMMON_THREAD_WORKER_THREAD_H */
