#include "common/thread/condition.h"

#include "common/system/clock.h"

void condition_init(struct condition *c)
{
	pthread_condattr_t attr;

	/* none of these can fail on Linux: they only store */
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->cond, &attr);
	pthread_condattr_destroy(&attr);
}

void condition_fini(struct condition *c)
{
	pthread_cond_destroy(&c->cond);
}

void condition_signal(struct condition *c)
{
	pthread_cond_signal(&c->cond);
}

void condition_broadcast(struct condition *c)
{
	pthread_cond_broadcast(&c->cond);
}

bool condition_wait_until(struct condition *c, pthread_mutex_t *lock, uint64_t deadline_ns)
{
	const struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / NS_PER_S),
					  .tv_nsec = (long)(deadline_ns % NS_PER_S)};

	if (deadline_ns == UINT64_MAX)
		return pthread_cond_wait(&c->cond, lock) == 0;
	return pthread_cond_timedwait(&c->cond, lock, &deadline) == 0;
}

uint64_t condition_deadline_ns(uint64_t timeout_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	return timeout_ns < UINT64_MAX - now_ns ? now_ns + timeout_ns : UINT64_MAX;
}
