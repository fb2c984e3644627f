/* A thread hangs by waiting for a queue of the test. Run under TSan as well. */
#include <errno.h>

#include "common/system/clock.h"
#include "common/thread/queue.h"
#include "common/thread/worker_thread.h"
#include "test/lib/unit.h"

#define A_WHILE_NS (300 * NS_PER_S)

struct fixture {
	struct queue *answers; /* what a hanging thread waits for; it ignores that it must end */
	struct queue *ends;    /* how the thread was freed: &alone or &joined */
	unsigned n_entered;    /* the owner's: only touched between enter and leave */
	bool hangs;
};

static char alone, joined, an_answer;

static void run(void *ctx, struct worker_thread *t)
{
	struct fixture *f = ctx;

	if (f->hangs)
		assert_non_null(queue_pop(f->answers));
	do {
		if (worker_thread_enter(t)) {
			f->n_entered++;
			worker_thread_leave(t);
		}
		worker_thread_wait(t, UINT64_MAX);
	} while (!worker_thread_must_end(t));
}

static void on_free(void *ctx, bool abandoned)
{
	struct fixture *f = ctx;

	assert_int_equal(queue_push(f->ends, abandoned ? &alone : &joined), 0);
}

static struct worker_thread *begin(struct fixture *f, bool hangs)
{
	const struct worker_thread_config cfg = {"test", run, on_free, f};
	struct worker_thread *t = NULL;

	*f = (struct fixture){.hangs = hangs};
	assert_int_equal(queue_new(&f->answers, 1), 0);
	assert_int_equal(queue_new(&f->ends, 1), 0);
	assert_int_equal(worker_thread_start(&t, &cfg), 0);
	return t;
}

static void end(struct fixture *f)
{
	assert_int_equal(queue_count(f->ends), 0);
	queue_free(f->answers);
	queue_free(f->ends);
}

static void answer(struct fixture *f)
{
	assert_int_equal(queue_push(f->answers, &an_answer), 0);
}

TEST(test_a_waiting_thread_ends_when_it_is_stopped)
{
	struct worker_thread *t;
	struct fixture f;

	t = begin(&f, false);
	assert_int_equal(worker_thread_join(t, UINT64_MAX), 0);
	assert_int_equal(f.n_entered, 1);
	assert_ptr_equal(queue_pop_timeout(f.ends, 0), &joined);
	end(&f);
	assert_int_equal(worker_thread_join(NULL, UINT64_MAX), 0);
}

TEST(test_join_gives_up_on_a_hanging_thread_after_its_timeout)
{
	struct worker_thread *t;
	struct fixture f;

	t = begin(&f, true);
	assert_int_equal(worker_thread_join(t, 0), -ETIMEDOUT);
	assert_int_equal(worker_thread_join(t, NS_PER_MS), -ETIMEDOUT);
	answer(&f);
	assert_int_equal(worker_thread_join(t, UINT64_MAX), 0);
	assert_int_equal(f.n_entered, 1); /* a thread that must end may still enter */
	assert_ptr_equal(queue_pop_timeout(f.ends, 0), &joined);
	end(&f);
}

TEST(test_an_abandoned_thread_frees_itself_and_touches_nothing_of_its_owner)
{
	struct worker_thread *t;
	struct fixture f;

	t = begin(&f, true);
	assert_true(worker_thread_abandon(t));
	f.n_entered = 1000;
	answer(&f);
	assert_ptr_equal(queue_pop_timeout(f.ends, A_WHILE_NS), &alone);
	assert_int_equal(f.n_entered, 1000);
	end(&f);
}

TEST(test_a_thread_that_ends_while_it_is_abandoned_is_freed_once)
{
	struct worker_thread *t;
	struct fixture f;
	bool left;

	for (int i = 0; i < 50; i++) {
		t = begin(&f, false);
		worker_thread_stop(t);
		left = worker_thread_abandon(t);
		assert_ptr_equal(queue_pop_timeout(f.ends, A_WHILE_NS), left ? &alone : &joined);
		end(&f);
	}
}

TEST(test_cpu_time_is_that_of_the_thread)
{
	struct worker_thread *t;
	struct fixture f;
	uint64_t before;

	t = begin(&f, true);
	answer(&f);
	eventually((before = worker_thread_cpu_ns(t)) != 0);
	/* the CPU time of this thread does not count */
	for (uint64_t until = clock_thread_cpu_ns() + 200 * NS_PER_MS;
	     clock_thread_cpu_ns() < until;)
		;
	assert_true(worker_thread_cpu_ns(t) < before + 100 * NS_PER_MS);
	assert_int_equal(worker_thread_join(t, UINT64_MAX), 0);
	assert_ptr_equal(queue_pop_timeout(f.ends, 0), &joined);
	end(&f);
}

static int start_and_join(void *arg)
{
	const struct worker_thread_config cfg = {"test", run, NULL, arg};
	struct worker_thread *t;
	int r = worker_thread_start(&t, &cfg);

	return r < 0 ? r : worker_thread_join(t, UINT64_MAX);
}

TEST(test_allocations_may_fail)
{
	struct fixture f = {0};

	check_oom(start_and_join, &f);
}
