#include "common/thread/worker_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

#include "common/system/clock.h"

#define WORKER_NICE 5

enum worker_state {
	WORKER_RUNS,
	WORKER_STOPS,
	WORKER_ABANDONED, /* frees itself */
};

struct worker_thread {
	struct worker_thread_config cfg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* on CLOCK_MONOTONIC */
	enum worker_state state;
	bool ended;
};

static void free_thread(struct worker_thread *t)
{
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static void end(struct worker_thread *t, bool abandoned)
{
	if (t->cfg.free)
		t->cfg.free(t->cfg.ctx, abandoned);
	free_thread(t);
}

static void *work(void *arg)
{
	struct worker_thread *t = arg;
	bool abandoned;

	/* a thread of its own has a nice value of its own; the loop goes first */
	(void)setpriority(PRIO_PROCESS, 0, WORKER_NICE);
	t->cfg.run(t->cfg.ctx, t);
	pthread_mutex_lock(&t->lock);
	abandoned = t->state == WORKER_ABANDONED;
	t->ended = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (abandoned)
		end(t, true);
	return NULL;
}

int worker_thread_start(struct worker_thread **ret, const struct worker_thread_config *cfg)
{
	struct worker_thread *t = calloc(1, sizeof(*t));
	pthread_condattr_t attr;

	if (!t)
		return -ENOMEM;
	t->cfg = *cfg;
	/* none of these can fail on Linux: they only store */
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&t->thread, NULL, work, t) != 0) {
		free_thread(t);
		return -EAGAIN;
	}
	(void)pthread_setname_np(t->thread, cfg->name);
	*ret = t;
	return 0;
}

/* Until changed, or past deadline_ns (UINT64_MAX: none), which gives false. The lock is held. */
static bool wait_until(struct worker_thread *t, uint64_t deadline_ns)
{
	const struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / NS_PER_S),
					  .tv_nsec = (long)(deadline_ns % NS_PER_S)};

	if (deadline_ns == UINT64_MAX)
		return pthread_cond_wait(&t->changed, &t->lock) == 0;
	return pthread_cond_timedwait(&t->changed, &t->lock, &deadline) == 0;
}

static uint64_t deadline_after(uint64_t ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	return ns < UINT64_MAX - now_ns ? now_ns + ns : UINT64_MAX;
}

/* ---- the owner's ---- */

static void stop_locked(struct worker_thread *t)
{
	t->state = WORKER_STOPS;
	pthread_cond_broadcast(&t->changed);
}

void worker_thread_stop(struct worker_thread *t)
{
	pthread_mutex_lock(&t->lock);
	stop_locked(t);
	pthread_mutex_unlock(&t->lock);
}

int worker_thread_join(struct worker_thread *t, uint64_t timeout_ns)
{
	uint64_t deadline_ns = deadline_after(timeout_ns);
	bool ended, in_time = true;

	if (!t)
		return 0;
	pthread_mutex_lock(&t->lock);
	stop_locked(t);
	while (!t->ended && in_time)
		in_time = wait_until(t, deadline_ns);
	ended = t->ended;
	pthread_mutex_unlock(&t->lock);
	if (!ended)
		return -ETIMEDOUT;
	pthread_join(t->thread, NULL);
	end(t, false);
	return 0;
}

bool worker_thread_abandon(struct worker_thread *t)
{
	bool ended;

	pthread_mutex_lock(&t->lock);
	ended = t->ended;
	if (!ended) {
		t->state = WORKER_ABANDONED;
		pthread_detach(t->thread);
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
	return !ended || worker_thread_join(t, UINT64_MAX) < 0;
}

uint64_t worker_thread_cpu_ns(const struct worker_thread *t)
{
	struct timespec used;
	clockid_t clock;

	if (pthread_getcpuclockid(t->thread, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

/* ---- its own ---- */

bool worker_thread_must_end(struct worker_thread *t)
{
	bool must;

	pthread_mutex_lock(&t->lock);
	must = t->state != WORKER_RUNS;
	pthread_mutex_unlock(&t->lock);
	return must;
}

bool worker_thread_is_abandoned(struct worker_thread *t)
{
	if (!worker_thread_enter(t))
		return true;
	worker_thread_leave(t);
	return false;
}

void worker_thread_wait(struct worker_thread *t, uint64_t ns)
{
	uint64_t deadline_ns = deadline_after(ns);
	bool in_time = ns > 0;

	pthread_mutex_lock(&t->lock);
	while (t->state == WORKER_RUNS && in_time)
		in_time = wait_until(t, deadline_ns);
	pthread_mutex_unlock(&t->lock);
}

bool worker_thread_enter(struct worker_thread *t)
{
	pthread_mutex_lock(&t->lock);
	if (t->state != WORKER_ABANDONED)
		return true;
	pthread_mutex_unlock(&t->lock);
	return false;
}

void worker_thread_leave(struct worker_thread *t)
{
	pthread_mutex_unlock(&t->lock);
}
