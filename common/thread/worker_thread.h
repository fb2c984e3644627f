/*
 * A thread that works for another one, its owner, and that can be abandoned.
 *
 * A thread may block for longer than its owner can wait, as in a read from a file system whose
 * server hangs. worker_thread_join() with a time limit detects that; worker_thread_abandon() then
 * leaves the thread alone with everything it works on: it ends when it can, and frees itself.
 *
 * One thread calls the owner's functions. For threads that only take jobs from a queue see
 * worker_pool.h.
 */
#ifndef COMMON_THREAD_WORKER_THREAD_H
#define COMMON_THREAD_WORKER_THREAD_H

#include "common/base.h"

/* Nice value for work that must not hold up the loop thread. */
#define WORKER_THREAD_NICE_BACKGROUND 5

struct worker_thread;

struct worker_thread_config {
	const char *name; /* at most 15 characters; NULL: the program's name */
	/* The work. Must return soon after worker_thread_must_end() turns true, or may any time. */
	void (*run)(void *ctx, struct worker_thread *t);
	/*
	 * Frees ctx after run has returned: on the owner's thread, or on the thread itself if
	 * it was abandoned. NULL: ctx stays the owner's.
	 */
	void (*free)(void *ctx, bool abandoned);
	void *ctx;
	int nice; /* nice value of the thread; 0: the program's */
};

/* Takes ctx on success. Returns 0, -ENOMEM, or -EAGAIN if the system has no thread left. */
int worker_thread_start(struct worker_thread **ret,
			const struct worker_thread_config *cfg) MUST_CHECK;

/* ---- called by the owner ---- */

/* Asks the thread to end and returns at once. */
void worker_thread_stop(struct worker_thread *t);

/*
 * Asks the thread to end and waits up to timeout_ns for it (UINT64_MAX: without limit). Returns 0
 * if it has ended, and t and ctx are freed; or -ETIMEDOUT, and t is as before. NULL is allowed.
 */
int worker_thread_join(struct worker_thread *t, uint64_t timeout_ns);

/*
 * Gives t up: it frees itself and ctx when run returns. Returns false if run had returned already;
 * t and ctx are then freed here. Either way the owner must not use t again.
 */
bool worker_thread_abandon(struct worker_thread *t);

/* CPU time the thread has used so far; 0 if that is not known. */
uint64_t worker_thread_cpu_ns(const struct worker_thread *t);

/* ---- called by the thread itself ---- */

/* True once the owner has stopped or abandoned it. */
bool worker_thread_must_end(struct worker_thread *t);
bool worker_thread_is_abandoned(struct worker_thread *t);

/* Sleeps for ns, or until the thread must end. */
void worker_thread_wait(struct worker_thread *t, uint64_t ns);

/*
 * Encloses access to what belongs to the owner. Returns true if the access is allowed until
 * worker_thread_leave(), for which worker_thread_abandon() waits; false if the thread is abandoned.
 */
bool worker_thread_enter(struct worker_thread *t) MUST_CHECK;
void worker_thread_leave(struct worker_thread *t);

#endif /* COMMON_THREAD_WORKER_THREAD_H */
