/* Jobs that wait on a semaphore until the test lets them go. */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "common/clock.h"
#include "common/deadline_call.h"
#include "test/lib/unit.h"

struct slow_job {
	struct deadline_job job;
	sem_t *gate; /* NULL: does not wait */
	int answer;
};

static atomic_int n_freed;

static void run(struct deadline_job *j)
{
	struct slow_job *s = (struct slow_job *)j;

	while (s->gate && sem_wait(s->gate) < 0)
		;
	s->answer = 42;
}

static void job_free(struct deadline_job *j)
{
	free(j);
	atomic_fetch_add(&n_freed, 1);
}

static struct slow_job *job(sem_t *gate, uint64_t key)
{
	struct slow_job *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->job = (struct deadline_job){run, job_free, key};
	s->gate = gate;
	return s;
}

static struct deadline_caller *caller(uint64_t pause_ns)
{
	struct deadline_caller *c = NULL;

	assert_int_equal(deadline_caller_new(&c, 50 * NS_PER_MS, pause_ns), 0);
	return c;
}

static void assert_quick(struct deadline_caller *c, uint64_t key)
{
	struct slow_job *s = job(NULL, key);

	assert_int_equal(deadline_call(c, &s->job), 0);
	assert_int_equal(s->answer, 42);
	job_free(&s->job);
}

static void assert_refused(struct deadline_caller *c, sem_t *gate, uint64_t key, int error)
{
	struct slow_job *s = job(gate, key);

	assert_int_equal(deadline_call(c, &s->job), error);
}

static void wait_for_freed(int n)
{
	for (int i = 0; i < 1000 && atomic_load(&n_freed) < n; i++)
		usleep(5000);
	assert_int_equal(atomic_load(&n_freed), n);
}

static void a_job_in_time_stays_the_callers(void **state)
{
	CLEANUP(deadline_caller_freep) struct deadline_caller *c = caller(NS_PER_S);

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_quick(c, 1);
}

static void a_job_that_hangs_is_left_alone_and_its_key_refused_for_a_while(void **state)
{
	CLEANUP(deadline_caller_freep) struct deadline_caller *c = caller(200 * NS_PER_MS);
	sem_t gate;

	(void)state;
	atomic_store(&n_freed, 0);
	sem_init(&gate, 0, 0);
	assert_refused(c, &gate, 7, -ETIMEDOUT);
	assert_int_equal(atomic_load(&n_freed), 0);
	assert_refused(c, NULL, 7, -EBUSY);
	assert_quick(c, 8);
	usleep(250000);
	assert_quick(c, 7);
	sem_post(&gate);
	wait_for_freed(4);
	sem_destroy(&gate);
}

static void no_more_threads_than_allowed_hang(void **state)
{
	struct deadline_caller *c = caller(NS_PER_S);
	sem_t gate;

	(void)state;
	atomic_store(&n_freed, 0);
	sem_init(&gate, 0, 0);
	for (uint64_t key = 0; key < DEADLINE_CALL_MAX_STUCK; key++)
		assert_refused(c, &gate, key, -ETIMEDOUT);
	assert_refused(c, NULL, 100, -EBUSY);
	deadline_caller_free(c); /* waits for nobody */
	for (int i = 0; i < DEADLINE_CALL_MAX_STUCK; i++)
		sem_post(&gate);
	wait_for_freed(DEADLINE_CALL_MAX_STUCK + 1);
	sem_destroy(&gate);
}

static int make_one(void *arg)
{
	CLEANUP(deadline_caller_freep) struct deadline_caller *c = NULL;

	(void)arg;
	return deadline_caller_new(&c, NS_PER_S, NS_PER_S);
}

static void survives_every_failed_allocation(void **state)
{
	(void)state;
	check_oom(make_one, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_in_time_stays_the_callers),
		cmocka_unit_test(a_job_that_hangs_is_left_alone_and_its_key_refused_for_a_while),
		cmocka_unit_test(no_more_threads_than_allowed_hang),
		cmocka_unit_test(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
