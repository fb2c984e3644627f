/*
 * A condition variable whose deadlines are on CLOCK_MONOTONIC, as clock_monotonic_ns() reads it: a
 * wait does not end early or late when the system's clock is set.
 *
 * The mutex is the caller's. As with every condition variable a wait may end for no reason, so it
 * belongs into a loop over what is waited for.
 */
#ifndef COMMON_THREAD_CONDITION_H
#define COMMON_THREAD_CONDITION_H

#include <pthread.h>

#include "common/base.h"

struct condition {
	pthread_cond_t cond;
};

/* Cannot fail. */
void condition_init(struct condition *c);
/* No thread may wait in it. */
void condition_fini(struct condition *c);

/* Wakes one waiting thread, or all of them. */
void condition_signal(struct condition *c);
void condition_broadcast(struct condition *c);

/*
 * Releases lock, waits, and holds lock again on return. Returns false once deadline_ns has passed;
 * UINT64_MAX waits without a deadline.
 */
bool condition_wait_until(struct condition *c, pthread_mutex_t *lock, uint64_t deadline_ns);

/* The deadline that is timeout_ns from now; UINT64_MAX stays UINT64_MAX. */
uint64_t condition_deadline_ns(uint64_t timeout_ns);

#endif /* COMMON_THREAD_CONDITION_H */
