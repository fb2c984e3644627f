/* Run under TSan as well. */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/prctl.h>

#include "common/system/clock.h"
#include "common/thread/queue.h"
#include "common/thread/worker_pool.h"
#include "test/lib/unit.h"

#define N_JOBS 2000
#define N_THREADS 4
#define ARENA_BYTES 8192
#define A_WHILE_NS (300 * NS_PER_S)

struct fixture {
	struct worker_pool *pool;
	struct queue *done; /* jobs that have run */
	sem_t gate;         /* each job waits for it if closed */
	bool closed;
	bool takes_another;
	char name[16]; /* of the thread that ran the last job */
};

static char jobs[N_JOBS];

static void run(void *ctx, void *job, struct arena *arena)
{
	struct fixture *f = ctx;

	/* would not fit a second time if the arena were not cleared */
	if (arena->limit_bytes > 0)
		assert_non_null(arena_alloc(arena, ARENA_BYTES / 2 + 1));
	while (f->closed && sem_wait(&f->gate) < 0)
		;
	if (f->takes_another) {
		prctl(PR_GET_NAME, f->name);
		assert_int_equal(queue_push(f->done, worker_pool_take(f->pool, A_WHILE_NS)), 0);
		assert_null(worker_pool_take(f->pool, 1));
	}
	assert_int_equal(queue_push(f->done, job), 0);
}

static void begin(struct fixture *f, const char *name, unsigned n_threads, size_t max_queued)
{
	const struct worker_pool_config cfg = {
		.name = name,
		.n_threads = n_threads,
		.max_queued = max_queued,
		.arena_bytes = ARENA_BYTES,
		.run = run,
		.ctx = f,
	};

	*f = (struct fixture){0};
	assert_int_equal(sem_init(&f->gate, 0, 0), 0);
	assert_int_equal(queue_new(&f->done, N_JOBS), 0);
	assert_int_equal(worker_pool_new(&f->pool, &cfg), 0);
}

static void end(struct fixture *f)
{
	worker_pool_free(f->pool);
	while (queue_pop_timeout(f->done, 0))
		;
	queue_free(f->done);
	sem_destroy(&f->gate);
}

TEST(test_every_job_is_run_once)
{
	bool seen[N_JOBS] = {false};
	struct fixture f;

	begin(&f, NULL, N_THREADS, N_JOBS);
	assert_int_equal(worker_pool_start(f.pool), 0);
	assert_int_equal(worker_pool_threads(f.pool), N_THREADS);
	for (size_t i = 0; i < N_JOBS; i++)
		assert_int_equal(worker_pool_submit(f.pool, &jobs[i]), 0);
	for (size_t i = 0; i < N_JOBS; i++) {
		char *job = queue_pop_timeout(f.done, A_WHILE_NS);

		assert_non_null(job);
		assert_false(seen[job - jobs]);
		seen[job - jobs] = true;
	}
	end(&f);
}

TEST(test_jobs_that_wait_are_run_before_it_stops_and_none_later)
{
	struct fixture f;

	begin(&f, NULL, 2, 100);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(worker_pool_submit(f.pool, &jobs[i]), 0);
	assert_int_equal(worker_pool_start(f.pool), 0);
	worker_pool_stop(f.pool);
	worker_pool_stop(f.pool);
	assert_int_equal(queue_count(f.done), 100);
	assert_int_equal(worker_pool_submit(f.pool, &jobs[0]), -EPIPE);
	assert_int_equal(worker_pool_threads(f.pool), 0);
	end(&f);
}

TEST(test_a_full_queue_refuses_while_the_threads_are_busy)
{
	struct fixture f;
	unsigned n = 0;
	int r;

	begin(&f, NULL, 1, 3);
	f.closed = true;
	assert_int_equal(worker_pool_start(f.pool), 0);
	assert_int_equal(worker_pool_submit(f.pool, &jobs[n++]), 0);
	/* the thread takes the first one in its own time */
	while ((r = worker_pool_submit(f.pool, &jobs[n])) == 0 || n < 4)
		n += r == 0;
	assert_int_equal(r, -EAGAIN);
	assert_int_equal(n, 4);
	assert_int_equal(worker_pool_queued(f.pool), 3);
	for (unsigned i = 0; i < n; i++)
		sem_post(&f.gate);
	worker_pool_stop(f.pool);
	assert_int_equal(queue_count(f.done), n);
	end(&f);
}

TEST(test_the_owner_drops_what_waits)
{
	struct fixture f;

	begin(&f, NULL, 1, 2);
	assert_int_equal(worker_pool_submit(f.pool, &jobs[0]), 0);
	assert_int_equal(worker_pool_submit(f.pool, &jobs[1]), 0);
	assert_ptr_equal(worker_pool_take(f.pool, 0), &jobs[0]);
	assert_ptr_equal(worker_pool_take(f.pool, 0), &jobs[1]);
	assert_null(worker_pool_take(f.pool, 0));
	assert_int_equal(worker_pool_start(f.pool), 0);
	worker_pool_stop(f.pool);
	assert_int_equal(queue_count(f.done), 0);
	end(&f);
}

TEST(test_a_job_may_take_the_next_one_along)
{
	struct fixture f;

	begin(&f, "pool-test", 1, 2);
	f.takes_another = true;
	assert_int_equal(worker_pool_submit(f.pool, &jobs[0]), 0);
	assert_int_equal(worker_pool_submit(f.pool, &jobs[1]), 0);
	assert_int_equal(worker_pool_start(f.pool), 0);
	assert_ptr_equal(queue_pop_timeout(f.done, A_WHILE_NS), &jobs[1]);
	assert_ptr_equal(queue_pop_timeout(f.done, A_WHILE_NS), &jobs[0]);
	worker_pool_stop(f.pool);
	assert_string_equal(f.name, "pool-test");
	end(&f);
}

TEST(test_a_pool_without_threads_or_places_is_refused)
{
	struct worker_pool_config cfg = {.n_threads = 0, .max_queued = 1, .run = run};
	struct worker_pool *p = NULL;

	assert_int_equal(worker_pool_new(&p, &cfg), -EINVAL);
	cfg = (struct worker_pool_config){.n_threads = 1, .run = run};
	assert_int_equal(worker_pool_new(&p, &cfg), -EINVAL);
	assert_null(p);
	worker_pool_free(NULL);
}

static int make_one(void *ctx)
{
	const struct worker_pool_config cfg = {.n_threads = 2, .max_queued = 2, .run = run};
	CLEANUP(worker_pool_freep) struct worker_pool *p = NULL;
	int r = worker_pool_new(&p, &cfg);

	(void)ctx;
	return r < 0 ? r : worker_pool_start(p);
}

TEST(test_allocations_may_fail)
{
	check_oom(make_one, NULL);
}
