/*
 * Calls that may never return, made on a helper thread that is given up when it takes too long.
 *
 * There is no other way: open(2) or read(2) on a file system whose server hangs ignores
 * O_NONBLOCK and most signals, and io_uring only moves the same wait into the kernel. The
 * helper is kept from call to call, so a call that is answered costs two thread switches and no
 * thread.
 *
 * Each stuck call costs a thread until the kernel lets go of it, so two brakes limit how many
 * there are: calls with the key of a stuck one (its device, say) are refused for a while, and
 * beyond DEADLINE_CALL_MAX_STUCK in the whole program every call is. A job must therefore own
 * all it works on: the caller may be freed long before the call returns.
 */
#include "common/thread/deadline_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/system/clock.h"
#include "common/thread/condition.h"
#include "common/thread/worker_thread.h"

#define MAX_PAUSED (2 * DEADLINE_CALL_MAX_STUCK)
#define N_WAITS 10
#define MAX_WAITS (10 * N_WAITS) /* for a thread that waits for nothing but a CPU */

enum helper_state {
	HELPER_IDLE,
	HELPER_RUNS,
	HELPER_DONE,
	HELPER_ABANDONED, /* the job is the helper's */
	HELPER_ENDS,
};

/* Outlives both the caller and the helper: each has a reference. */
struct stuck_call {
	atomic_uint refs;
	atomic_bool has_returned;
};

/* Shared by the owner's thread and the helper's until it is abandoned. */
struct helper {
	pthread_mutex_t lock;
	struct condition changed; /* state */
	enum helper_state state;
	struct deadline_job *job;
	struct stuck_call *stuck;     /* NULL: nobody asks whether the job has returned */
	pid_t tid;                    /* 0: it has not begun yet */
	struct worker_thread *thread; /* the owner's */
};

struct deadline_caller {
	uint64_t timeout_ns;
	uint64_t pause_ns;
	struct helper *helper; /* idle; NULL: none yet, or the last one is stuck */
	struct {
		uint64_t key;
		uint64_t until_ns;        /* 0: until the call has returned */
		struct stuck_call *stuck; /* NULL: nobody asks whether it has */
	} paused[MAX_PAUSED];
};

/* Of the whole program, as a caller may be freed while its helper is stuck. */
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

static void stuck_call_unref(struct stuck_call *s)
{
	if (s && atomic_fetch_sub(&s->refs, 1) == 1)
		free(s);
}

static void set_state(struct helper *h, enum helper_state state)
{
	h->state = state;
	condition_signal(&h->changed);
}

void deadline_caller_free(struct deadline_caller *c)
{
	if (!c)
		return;
	if (c->helper) {
		pthread_mutex_lock(&c->helper->lock);
		set_state(c->helper, HELPER_ENDS);
		pthread_mutex_unlock(&c->helper->lock);
		(void)worker_thread_join(c->helper->thread, UINT64_MAX);
	}
	for (size_t i = 0; i < MAX_PAUSED; i++)
		stuck_call_unref(c->paused[i].stuck);
	free(c);
}

/* ---- the helper's thread ---- */

static void help(void *ctx, struct worker_thread *t)
{
	struct helper *h = ctx;

	(void)t;
	pthread_mutex_lock(&h->lock);
	h->tid = gettid();
	while (h->state != HELPER_ABANDONED && h->state != HELPER_ENDS) {
		if (h->state != HELPER_RUNS) {
			(void)condition_wait_until(&h->changed, &h->lock, UINT64_MAX);
			continue;
		}
		pthread_mutex_unlock(&h->lock);
		h->job->run(h->job);
		pthread_mutex_lock(&h->lock);
		if (h->state == HELPER_RUNS)
			set_state(h, HELPER_DONE);
	}
	pthread_mutex_unlock(&h->lock);
}

/* The thread has ended, or was never started. */
static void helper_free(void *ctx, bool abandoned)
{
	struct helper *h = ctx;

	(void)abandoned; /* it may also have been joined just after the deadline */
	if (h->state == HELPER_ABANDONED) {
		h->job->free(h->job);
		atomic_fetch_sub(&n_stuck, 1);
	}
	if (h->stuck)
		atomic_store(&h->stuck->has_returned, true);
	stuck_call_unref(h->stuck);
	condition_fini(&h->changed);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

static int helper_new(struct helper **ret)
{
	struct helper *h = calloc(1, sizeof(*h));
	const struct worker_thread_config thread = {
		.name = "deadline-call",
		.run = help,
		.free = helper_free,
		.ctx = h,
	};
	int r;

	if (!h)
		return -ENOMEM;
	pthread_mutex_init(&h->lock, NULL);
	condition_init(&h->changed);
	r = worker_thread_start(&h->thread, &thread);
	if (r < 0) {
		helper_free(h, false);
		return r;
	}
	*ret = h;
	return 0;
}

/* ---- keys ---- */

static bool is_stuck(const struct deadline_caller *c, size_t i)
{
	return c->paused[i].stuck && !atomic_load(&c->paused[i].stuck->has_returned);
}

static bool is_paused(const struct deadline_caller *c, uint64_t key, uint64_t now_ns)
{
	for (size_t i = 0; i < MAX_PAUSED; i++) {
		if (c->paused[i].key == key && (now_ns < c->paused[i].until_ns || is_stuck(c, i)))
			return true;
	}
	return false;
}

/* Replaces the key whose pause ends first; takes over stuck. */
static void pause_key(struct deadline_caller *c, uint64_t key, struct stuck_call *stuck)
{
	size_t first = 0;

	for (size_t i = 1; i < MAX_PAUSED; i++) {
		if (is_stuck(c, i) == is_stuck(c, first)
			    ? c->paused[i].until_ns < c->paused[first].until_ns
			    : is_stuck(c, first))
			first = i;
	}
	stuck_call_unref(c->paused[first].stuck);
	c->paused[first].key = key;
	c->paused[first].until_ns = stuck ? 0 : clock_monotonic_ns() + c->pause_ns;
	c->paused[first].stuck = stuck;
}

/* ---- calls ---- */

/* Whether the thread runs or could run if it had a CPU. proc_pid_stat(5), state. */
static bool is_runnable(const struct helper *h)
{
	char path[64], text[256];
	const char *comm_end;
	ssize_t n;
	int fd;

	if (h->tid == 0)
		return true;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)h->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	comm_end = strrchr(text, ')');
	return comm_end && strncmp(comm_end, ") R", 3) == 0;
}

/*
 * Returns true if the job was done in time; otherwise the helper owns the job. The wait is made of
 * N_WAITS parts: if this process or the whole machine is stopped, only the part that runs is over
 * when it continues, and on a machine too busy to wake the helper the parts end late as well. A
 * helper that only waits for a CPU is not stuck, so it has MAX_WAITS parts.
 */
static bool wait_for(struct helper *h, uint64_t timeout_ns)
{
	bool done;

	for (unsigned i = 0; i < MAX_WAITS && h->state == HELPER_RUNS; i++) {
		uint64_t deadline_ns;
		bool in_time = true;

		if (i >= N_WAITS && !is_runnable(h))
			break;
		deadline_ns = condition_deadline_ns(timeout_ns / N_WAITS);
		while (h->state == HELPER_RUNS && in_time)
			in_time = condition_wait_until(&h->changed, &h->lock, deadline_ns);
	}
	done = h->state == HELPER_DONE;
	if (!done)
		atomic_fetch_add(&n_stuck, 1);
	h->state = done ? HELPER_IDLE : HELPER_ABANDONED;
	return done;
}

/* Without memory the key is refused for the pause only. */
static struct stuck_call *stuck_call_new(void)
{
	struct stuck_call *s = malloc(sizeof(*s));

	if (s)
		*s = (struct stuck_call){.refs = 2};
	return s;
}

int deadline_call(struct deadline_caller *c, struct deadline_job *j)
{
	uint64_t key = j->key; /* j may be freed once the deadline has passed */
	struct stuck_call *stuck = NULL;
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
	if (!done && j->once)
		h->stuck = stuck = stuck_call_new();
	pthread_mutex_unlock(&h->lock);
	if (done)
		return 0;
	(void)worker_thread_abandon(h->thread);
	c->helper = NULL;
	pause_key(c, key, stuck);
	return -ETIMEDOUT;
}
