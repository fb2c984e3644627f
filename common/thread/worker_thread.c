/*
 * A thread that its owner can join with a time limit, and give up if that does not help.
 *
 * pthread_cancel() does not help: a read in uninterruptible sleep ignores it, and a thread
 * cancelled elsewhere would leave locks held and memory leaked. So a stuck thread keeps its
 * stack and its data until it returns, if ever, and the program does without both.
 *
 * Who frees what is decided under the lock, once: when the thread finds that it was abandoned
 * before it ended, it frees everything itself; otherwise the owner does, after the join. enter
 * and leave hold that same lock, so an abandoned thread cannot be half-way through its owner's
 * data.
 */
#include "common/thread/worker_thread.h"

#include <errno.h>
#include <sys/resource.h>

#include "common/system/clock.h"
#include "common/thread/condition.h"

enum worker_state {
	WORKER_RUNS,
	WORKER_STOPS,
	WORKER_ABANDONED, /* frees itself */
};

struct worker_thread {
	struct worker_thread_config cfg;
	pthread_t thread;
	pthread_mutex_t lock;
	struct condition changed; /* state, or ended */
	enum worker_state state;
	bool ended;
};

static void free_thread(struct worker_thread *t)
{
	condition_fini(&t->changed);
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

	if (t->cfg.name)
		(void)pthread_setname_np(pthread_self(), t->cfg.name);
	/* on Linux each thread has its own nice value; without it the work is still done */
	if (t->cfg.nice != 0)
		(void)setpriority(PRIO_PROCESS, 0, t->cfg.nice);
	t->cfg.run(t->cfg.ctx, t);
	pthread_mutex_lock(&t->lock);
	abandoned = t->state == WORKER_ABANDONED;
	t->ended = true;
	condition_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (abandoned)
		end(t, true);
	return NULL;
}

int worker_thread_start(struct worker_thread **ret, const struct worker_thread_config *cfg)
{
	struct worker_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->cfg = *cfg;
	pthread_mutex_init(&t->lock, NULL);
	condition_init(&t->changed);
	if (pthread_create(&t->thread, NULL, work, t) != 0) {
		free_thread(t);
		return -EAGAIN;
	}
	*ret = t;
	return 0;
}

/* ---- called by the owner ---- */

static void stop_locked(struct worker_thread *t)
{
	t->state = WORKER_STOPS;
	condition_broadcast(&t->changed);
}

void worker_thread_stop(struct worker_thread *t)
{
	pthread_mutex_lock(&t->lock);
	stop_locked(t);
	pthread_mutex_unlock(&t->lock);
}

int worker_thread_join(struct worker_thread *t, uint64_t timeout_ns)
{
	uint64_t deadline_ns = condition_deadline_ns(timeout_ns);
	bool ended, in_time = true;

	if (!t)
		return 0;
	pthread_mutex_lock(&t->lock);
	stop_locked(t);
	while (!t->ended && in_time)
		in_time = condition_wait_until(&t->changed, &t->lock, deadline_ns);
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
		condition_broadcast(&t->changed);
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

/* ---- called by the thread itself ---- */

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
	uint64_t deadline_ns = condition_deadline_ns(ns);
	bool in_time = ns > 0;

	pthread_mutex_lock(&t->lock);
	while (t->state == WORKER_RUNS && in_time)
		in_time = condition_wait_until(&t->changed, &t->lock, deadline_ns);
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
