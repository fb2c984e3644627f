#include "common/thread/deadline_call.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/system/clock.h"

#define MAX_PAUSED 16
#define N_WAITS 10

enum helper_state {
	HELPER_IDLE,
	HELPER_RUNS,
	HELPER_DONE,
	HELPER_ABANDONED, /* frees itself and its job */
	HELPER_ENDS,
};

/* Shared by the owner's thread and its own until it is abandoned. */
struct helper {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* on CLOCK_MONOTONIC */
	pthread_t thread;
	enum helper_state state;
	struct deadline_job *job;
};

struct deadline_caller {
	uint64_t timeout_ns;
	uint64_t pause_ns;
	struct helper *helper; /* idle; NULL: none yet, or the last one is stuck */
	struct {
		uint64_t key;
		uint64_t until_ns;
	} paused[MAX_PAUSED];
};

/* Of the whole program: a caller may go while its thread is stuck. */
static atomic_uint n_stuck;

int deadline_caller_new(struct deadline_caller **ret, uint64_t timeout_ns, uint64_t pause_ns)
{
	struct deadline_caller *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->timeout_ns = timeout_ns;
	c->pause_ns = pause_ns;
	*ret = c;
	return 0;
}

static void helper_free(struct helper *h)
{
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

static void set_state(struct helper *h, enum helper_state state)
{
	h->state = state;
	pthread_cond_signal(&h->changed);
}

void deadline_caller_free(struct deadline_caller *c)
{
	if (!c)
		return;
	if (c->helper) {
		pthread_mutex_lock(&c->helper->lock);
		set_state(c->helper, HELPER_ENDS);
		pthread_mutex_unlock(&c->helper->lock);
		pthread_join(c->helper->thread, NULL);
		helper_free(c->helper);
	}
	free(c);
}

/* ---- the other thread ---- */

static void *help(void *arg)
{
	struct helper *h = arg;
	bool abandoned = false;

	pthread_mutex_lock(&h->lock);
	while (!abandoned && h->state != HELPER_ENDS) {
		if (h->state != HELPER_RUNS) {
			pthread_cond_wait(&h->changed, &h->lock);
			continue;
		}
		pthread_mutex_unlock(&h->lock);
		h->job->run(h->job);
		pthread_mutex_lock(&h->lock);
		abandoned = h->state == HELPER_ABANDONED;
		if (!abandoned)
			set_state(h, HELPER_DONE);
	}
	pthread_mutex_unlock(&h->lock);
	if (abandoned) {
		h->job->free(h->job);
		helper_free(h);
		atomic_fetch_sub(&n_stuck, 1);
	}
	return NULL;
}

static int helper_new(struct helper **ret)
{
	struct helper *h = calloc(1, sizeof(*h));
	pthread_condattr_t attr;

	if (!h)
		return -ENOMEM;
	/* none of these can fail on Linux: they only store */
	pthread_mutex_init(&h->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&h->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&h->thread, NULL, help, h) != 0) {
		helper_free(h);
		return -EAGAIN;
	}
	(void)pthread_setname_np(h->thread, "deadline-call");
	*ret = h;
	return 0;
}

/* ---- keys ---- */

static bool is_paused(const struct deadline_caller *c, uint64_t key, uint64_t now_ns)
{
	for (size_t i = 0; i < MAX_PAUSED; i++) {
		if (c->paused[i].key == key && now_ns < c->paused[i].until_ns)
			return true;
	}
	return false;
}

/* In the place of the one whose pause ends first. */
static void pause_key(struct deadline_caller *c, uint64_t key)
{
	size_t first = 0;

	for (size_t i = 1; i < MAX_PAUSED; i++) {
		if (c->paused[i].until_ns < c->paused[first].until_ns)
			first = i;
	}
	c->paused[first].key = key;
	c->paused[first].until_ns = clock_monotonic_ns() + c->pause_ns;
}

/* ---- calls ---- */

static struct timespec monotonic_time(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
				 .tv_nsec = (long)(ns % NS_PER_S)};
}

/*
 * True when the job was done in time; else the helper belongs to itself from now on. The time is
 * waited for in parts: when this process or the machine stands still, one of them is over, not all,
 * and on a busy machine that wakes the helper late, they are over late, too.
 */
static bool wait_for(struct helper *h, uint64_t timeout_ns)
{
	bool done;

	for (unsigned i = 0; i < N_WAITS && h->state == HELPER_RUNS; i++) {
		struct timespec deadline =
			monotonic_time(clock_monotonic_ns() + timeout_ns / N_WAITS);
		int r = 0;

		while (h->state == HELPER_RUNS && r == 0)
			r = pthread_cond_timedwait(&h->changed, &h->lock, &deadline);
	}
	done = h->state == HELPER_DONE;
	if (done) {
		h->state = HELPER_IDLE;
	} else {
		h->state = HELPER_ABANDONED;
		atomic_fetch_add(&n_stuck, 1);
		pthread_detach(h->thread);
	}
	return done;
}

int deadline_call(struct deadline_caller *c, struct deadline_job *j)
{
	uint64_t key = j->key; /* j may be gone after a call that took too long */
	struct helper *h = c->helper;
	bool done;
	int r = 0;

	if (is_paused(c, key, clock_monotonic_ns()) ||
	    atomic_load(&n_stuck) >= DEADLINE_CALL_MAX_STUCK)
		r = -EBUSY;
	else if (!h)
		r = helper_new(&h);
	if (r < 0) {
		j->free(j);
		return r;
	}

	c->helper = h;
	pthread_mutex_lock(&h->lock);
	h->job = j;
	set_state(h, HELPER_RUNS);
	done = wait_for(h, c->timeout_ns);
	pthread_mutex_unlock(&h->lock);
	if (done)
		return 0;
	c->helper = NULL;
	pause_key(c, key);
	return -ETIMEDOUT;
}
