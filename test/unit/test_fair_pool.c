#include "common/thread/fair_pool.h"

#include <errno.h>
#include <pthread.h>

#include "test/lib/unit.h"

#define N_THREADS 3u

struct job {
	struct fair_job fair; /* first */
	uint64_t client;
	bool started, left, released, done;
};

struct fixture {
	struct fair_pool *pool;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned n_started;
	struct job *order[64];
	bool hold; /* jobs run until they are released */
};

static void run(void *ctx, struct fair_job *fair, bool left)
{
	struct job *job = (struct job *)fair;
	struct fixture *f = ctx;

	pthread_mutex_lock(&f->lock);
	job->started = true;
	job->left = left;
	if (!left)
		f->order[f->n_started++ % ARRAY_SIZE(f->order)] = job;
	pthread_cond_broadcast(&f->changed);
	while (f->hold && !left && !job->released)
		pthread_cond_wait(&f->changed, &f->lock);
	job->done = true;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

static void begin(struct fixture *f, unsigned max_running_per_client)
{
	const struct fair_pool_config cfg = {
		.n_threads = N_THREADS,
		.max_running_per_client = max_running_per_client,
		.max_waiting = 16,
		.max_waiting_per_client = 10,
		.run = run,
		.ctx = f,
	};

	*f = (struct fixture){.hold = true};
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	assert_int_equal(fair_pool_new(&f->pool, &cfg), 0);
}

static void end(struct fixture *f)
{
	pthread_mutex_lock(&f->lock);
	f->hold = false;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	fair_pool_free(f->pool);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
}

static void submit(struct fixture *f, struct job *job, uint64_t client)
{
	*job = (struct job){.client = client};
	assert_int_equal(fair_pool_submit(f->pool, &job->fair, client), 0);
}

static void wait_for(struct fixture *f, const bool *what)
{
	pthread_mutex_lock(&f->lock);
	while (!*what)
		pthread_cond_wait(&f->changed, &f->lock);
	pthread_mutex_unlock(&f->lock);
}

static void release(struct fixture *f, struct job *job)
{
	pthread_mutex_lock(&f->lock);
	job->released = true;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	wait_for(f, &job->done);
}

TEST(a_client_leaves_a_thread_to_others)
{
	struct job greedy[6], other;
	struct fixture f;

	begin(&f, 2);
	for (size_t i = 0; i < ARRAY_SIZE(greedy); i++)
		submit(&f, &greedy[i], 1);
	wait_for(&f, &greedy[0].started);
	wait_for(&f, &greedy[1].started);
	submit(&f, &other, 2);
	wait_for(&f, &other.started);
	assert_int_equal(fair_pool_n_running(f.pool), 3);
	assert_int_equal(fair_pool_n_waiting(f.pool), 4);
	assert_false(greedy[2].started);
	/* when its own job has ended, the next one of the same client runs */
	release(&f, &greedy[0]);
	wait_for(&f, &greedy[2].started);
	end(&f);
	for (size_t i = 0; i < ARRAY_SIZE(greedy); i++)
		assert_true(greedy[i].done && !greedy[i].left);
}

TEST(the_client_with_the_fewest_running_is_next)
{
	struct job a[5], b[2], c;
	struct fixture f;

	begin(&f, 3);
	for (size_t i = 0; i < ARRAY_SIZE(a); i++)
		submit(&f, &a[i], 1);
	for (size_t i = 0; i < N_THREADS; i++)
		wait_for(&f, &a[i].started);
	submit(&f, &b[0], 2);
	submit(&f, &b[1], 2);
	submit(&f, &c, 3);
	release(&f, &a[0]);
	release(&f, &a[1]);
	wait_for(&f, &b[0].started);
	wait_for(&f, &c.started);
	assert_false(a[3].started);
	assert_false(b[1].started);
	end(&f);
	assert_true(a[4].done && b[1].done);
}

TEST(a_job_that_waits_is_ended_at_once_if_its_client_leaves)
{
	struct job running[N_THREADS], waiting[3], before = {0};
	struct fixture f;

	begin(&f, 3);
	for (size_t i = 0; i < ARRAY_SIZE(running); i++)
		submit(&f, &running[i], i);
	for (size_t i = 0; i < ARRAY_SIZE(running); i++)
		wait_for(&f, &running[i].started);
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		submit(&f, &waiting[i], 9);
	fair_pool_leave(f.pool, &waiting[2].fair);
	wait_for(&f, &waiting[2].done);
	assert_true(waiting[2].left);
	fair_pool_leave(f.pool, &waiting[0].fair);
	wait_for(&f, &waiting[0].done);
	fair_pool_leave(f.pool, &before.fair);
	assert_int_equal(fair_pool_submit(f.pool, &before.fair, 9), 0);
	wait_for(&f, &before.done);
	assert_true(before.left);
	/* a job that runs is not the pool's any more */
	fair_pool_leave(f.pool, &running[0].fair);
	assert_int_equal(fair_pool_n_running(f.pool), 3);
	assert_false(waiting[1].started);
	release(&f, &running[0]);
	wait_for(&f, &waiting[1].started);
	end(&f);
	assert_false(waiting[1].left);
}

TEST(queues_are_limited_for_each_and_for_all)
{
	struct job running[N_THREADS], waiting[16], one_more = {0};
	struct fixture f;

	begin(&f, 3);
	for (size_t i = 0; i < ARRAY_SIZE(running); i++)
		submit(&f, &running[i], 100);
	for (size_t i = 0; i < ARRAY_SIZE(running); i++)
		wait_for(&f, &running[i].started);
	for (size_t i = 0; i < 10; i++)
		submit(&f, &waiting[i], 1);
	assert_int_equal(fair_pool_submit(f.pool, &one_more.fair, 1), -EDQUOT);
	for (size_t i = 10; i < 16; i++)
		submit(&f, &waiting[i], i);
	assert_int_equal(fair_pool_submit(f.pool, &one_more.fair, 50), -EAGAIN);
	end(&f);
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		assert_true(waiting[i].done);
	assert_false(one_more.started);
}

/* ---- many threads at once, for the thread sanitizer ---- */

struct storm {
	struct fixture *f;
	uint64_t client;
	unsigned n_refused;
};

static void *submit_and_leave(void *ctx)
{
	struct storm *s = ctx;

	for (unsigned i = 0; i < 300; i++) {
		struct job job = {.client = s->client};

		if (fair_pool_submit(s->f->pool, &job.fair, s->client) < 0) {
			s->n_refused++;
			continue;
		}
		if (i % 3 == 0)
			fair_pool_leave(s->f->pool, &job.fair);
		wait_for(s->f, &job.done);
	}
	return NULL;
}

TEST(every_job_runs_once_however_clients_come_and_go)
{
	struct storm storms[12];
	pthread_t threads[ARRAY_SIZE(storms)];
	struct fixture f;

	begin(&f, 2);
	f.hold = false;
	for (size_t i = 0; i < ARRAY_SIZE(storms); i++) {
		storms[i] = (struct storm){.f = &f, .client = i % 4};
		assert_int_equal(pthread_create(&threads[i], NULL, submit_and_leave, &storms[i]),
				 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(storms); i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(storms[i].n_refused, 0);
	}
	assert_int_equal(fair_pool_n_waiting(f.pool), 0);
	end(&f);
}

TEST(a_pool_that_stops_runs_what_waits_and_refuses_the_rest)
{
	struct job jobs[6], late = {0};
	struct fixture f;

	begin(&f, 1);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		submit(&f, &jobs[i], 1);
	pthread_mutex_lock(&f.lock);
	f.hold = false;
	pthread_cond_broadcast(&f.changed);
	pthread_mutex_unlock(&f.lock);
	fair_pool_stop(f.pool);
	assert_int_equal(fair_pool_submit(f.pool, &late.fair, 1), -EPIPE);
	end(&f);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		assert_true(jobs[i].done);
		assert_ptr_equal(f.order[i], &jobs[i]);
	}
}
