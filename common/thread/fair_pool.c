/*
 * The threads are those of a worker_pool.h, whose jobs are only calls: "look whether there is
 * something to do". A thread that was called runs jobs until none may run. So a call that finds
 * nothing is harmless, and a job that may not run yet, because its client has enough running, is
 * found by the thread that ends one of those.
 *
 * There is one more thread than jobs that may run, which is therefore always there for jobs whose
 * clients have left.
 *
 * There are as many clients as jobs at most, a few dozen, so finding one is a scan.
 */
#include "common/thread/fair_pool.h"

#include <errno.h>
#include <pthread.h>

#include "common/thread/worker_pool.h"

struct fair_client {
	uint64_t id;
	struct fair_job *first, **end; /* waiting jobs, oldest first */
	unsigned n_waiting, n_running; /* both 0: the entry is free */
	uint64_t last_start;           /* turn of its last job that began; 0: none */
};

struct fair_pool {
	struct fair_pool_config cfg;
	struct worker_pool *calls;
	pthread_mutex_t lock; /* of all below */
	bool stopped;
	uint64_t turn; /* counts jobs that began */
	unsigned n_waiting, n_running;
	struct fair_job *left; /* jobs to end */
	size_t n_clients;
	struct fair_client clients[];
};

/* ---- with the lock held ---- */

static bool is_free(const struct fair_client *c)
{
	return c->n_waiting + c->n_running == 0;
}

/* There is a place for every job, so for every client. */
static struct fair_client *find_client(struct fair_pool *p, uint64_t id)
{
	struct fair_client *empty = NULL;

	for (size_t i = 0; i < p->n_clients; i++) {
		struct fair_client *c = &p->clients[i];

		if (!is_free(c) && c->id == id)
			return c;
		if (is_free(c))
			empty = c;
	}
	if (!empty)
		abort();
	*empty = (struct fair_client){.id = id, .end = &empty->first};
	return empty;
}

static void append(struct fair_pool *p, struct fair_client *c, struct fair_job *job)
{
	job->client = c;
	job->next = NULL;
	job->waiting = true;
	*c->end = job;
	c->end = &job->next;
	c->n_waiting++;
	p->n_waiting++;
}

/* at is the link that points to the job. */
static struct fair_job *detach(struct fair_pool *p, struct fair_client *c, struct fair_job **at)
{
	struct fair_job *job = *at;

	*at = job->next;
	if (c->end == &job->next)
		c->end = at;
	job->next = NULL;
	job->waiting = false;
	c->n_waiting--;
	p->n_waiting--;
	return job;
}

static bool is_before(const struct fair_client *a, const struct fair_client *b)
{
	if (a->n_running != b->n_running)
		return a->n_running < b->n_running;
	return a->last_start < b->last_start;
}

static struct fair_client *choose_client(struct fair_pool *p)
{
	struct fair_client *best = NULL;

	if (p->n_running == p->cfg.n_threads)
		return NULL;
	for (size_t i = 0; i < p->n_clients; i++) {
		struct fair_client *c = &p->clients[i];

		if (c->n_waiting > 0 && c->n_running < p->cfg.max_running_per_client &&
		    (!best || is_before(c, best)))
			best = c;
	}
	return best;
}

/* ---- the threads ---- */

/* Returns a job and its client; or a job that is to be ended, and NULL; or nothing. */
static struct fair_job *take(struct fair_pool *p, struct fair_client **ret_client)
{
	struct fair_client *c = NULL;
	struct fair_job *job;

	pthread_mutex_lock(&p->lock);
	job = p->left;
	if (job) {
		p->left = job->next;
	} else if ((c = choose_client(p))) {
		job = detach(p, c, &c->first);
		c->last_start = ++p->turn;
		c->n_running++;
		p->n_running++;
	}
	pthread_mutex_unlock(&p->lock);
	*ret_client = c;
	return job;
}

static void look(void *ctx, void *call, struct arena *arena)
{
	struct fair_pool *p = ctx;
	struct fair_client *c;
	struct fair_job *job;

	(void)call, (void)arena;
	while ((job = take(p, &c))) {
		p->cfg.run(p->cfg.ctx, job, !c);
		if (!c)
			continue;
		pthread_mutex_lock(&p->lock);
		c->n_running--;
		p->n_running--;
		pthread_mutex_unlock(&p->lock);
	}
}

/* ---- from any thread ---- */

static void call_thread(struct fair_pool *p)
{
	/* if the queue is full, there are calls enough; if it is closed, all threads look anyway */
	(void)!worker_pool_submit(p->calls, p);
}

int fair_pool_submit(struct fair_pool *p, struct fair_job *job, uint64_t client)
{
	struct fair_client *c;
	int r = 0;

	pthread_mutex_lock(&p->lock);
	if (p->stopped) {
		r = -EPIPE;
	} else if (p->n_waiting == p->cfg.max_waiting) {
		r = -EAGAIN;
	} else if (job->left) {
		job->next = p->left;
		p->left = job;
	} else {
		c = find_client(p, client);
		if (c->n_waiting == p->cfg.max_waiting_per_client)
			r = -EDQUOT;
		else
			append(p, c, job);
	}
	/* with the lock held, so that threads that are stopped see the call or the job */
	if (r == 0)
		call_thread(p);
	pthread_mutex_unlock(&p->lock);
	return r;
}

void fair_pool_leave(struct fair_pool *p, struct fair_job *job)
{
	pthread_mutex_lock(&p->lock);
	if (job->waiting) {
		struct fair_client *c = job->client;
		struct fair_job **at = &c->first;

		while (*at != job)
			at = &(*at)->next;
		detach(p, c, at);
		job->next = p->left;
		p->left = job;
		call_thread(p);
	}
	job->left = true;
	pthread_mutex_unlock(&p->lock);
}

unsigned fair_pool_n_waiting(struct fair_pool *p)
{
	unsigned n;

	pthread_mutex_lock(&p->lock);
	n = p->n_waiting;
	pthread_mutex_unlock(&p->lock);
	return n;
}

unsigned fair_pool_n_running(struct fair_pool *p)
{
	unsigned n;

	pthread_mutex_lock(&p->lock);
	n = p->n_running;
	pthread_mutex_unlock(&p->lock);
	return n;
}

/* ---- create and destroy ---- */

int fair_pool_new(struct fair_pool **ret, const struct fair_pool_config *cfg)
{
	size_t n_clients = (size_t)cfg->max_waiting + cfg->n_threads + 1;
	CLEANUP(fair_pool_freep) struct fair_pool *p = NULL;
	const struct worker_pool_config calls = {
		.name = cfg->name,
		.n_threads = cfg->n_threads + 1,
		.max_queued = n_clients,
		.run = look,
	};
	struct worker_pool_config own = calls;
	int r;

	if (!cfg->n_threads || !cfg->max_running_per_client || !cfg->max_waiting ||
	    !cfg->max_waiting_per_client)
		return -EINVAL;
	p = calloc(1, sizeof(*p) + n_clients * sizeof(struct fair_client));
	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	p->cfg = *cfg;
	p->n_clients = n_clients;
	own.ctx = p;
	r = worker_pool_new(&p->calls, &own);
	if (r == 0)
		r = worker_pool_start(p->calls);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

void fair_pool_stop(struct fair_pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->stopped = true;
	pthread_mutex_unlock(&p->lock);
	worker_pool_stop(p->calls);
}

void fair_pool_free(struct fair_pool *p)
{
	if (!p)
		return;
	if (p->calls)
		fair_pool_stop(p);
	worker_pool_free(p->calls);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
