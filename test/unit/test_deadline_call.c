/* Jobs that wait on a semaphore until the test lets them go. */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "common/thread/deadline_call.h"
#include "test/lib/unit.h"

struct slow_job {
	struct deadline_job job;
	sem_t *gate; /* NULL: the job does not wait */
	int answer;
};

#define HOUR_NS (3600 * NS_PER_S)
#define LIMIT_NS (50 * NS_PER_MS)

static atomic_int n_freed;
static int n_made;

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

static struct deadline_caller *caller(uint64_t limit_ns, uint64_t pause_ns)
{
	struct deadline_caller *c = NULL;

	assert_int_equal(deadline_caller_new(&c, limit_ns, pause_ns), 0);
	return c;
}

static int call_quick(struct deadline_caller *c, uint64_t key)
{
	struct slow_job *s = job(NULL, key);
	int r = deadline_call(c, &s->job);

	n_made++;
	if (r < 0)
		return r;
	assert_int_equal(s->answer, 42);
	job_free(&s->job);
	return 0;
}

static void assert_refused(struct deadline_caller *c, sem_t *gate, uint64_t key, int error)
{
	struct slow_job *s = job(gate, key);

	n_made++;
	assert_int_equal(deadline_call(c, &s->job), error);
}

static void wait_for_freed(void)
{
	eventually(atomic_load(&n_freed) == n_made);
}

static void begin(sem_t *gate)
{
	n_made = 0;
	atomic_store(&n_freed, 0);
	sem_init(gate, 0, 0);
}

/* ---- a stopped process ---- */

#define STANDS_STILL_NS (NS_PER_S + NS_PER_S / 2)
#define WORK_NS (100 * NS_PER_MS)

static int begun[2]; /* a pipe that gets a byte when the job runs */

static void work_a_while(struct deadline_job *j)
{
	uint64_t end_ns = clock_thread_cpu_ns() + WORK_NS;

	(void)j;
	(void)!write(begun[1], "", 1);
	while (clock_thread_cpu_ns() < end_ns)
		;
}

/*
 * Makes a call with a limit of a second in a process that is stopped for longer. Returns its
 * exit status.
 */
static int call_and_stop(void)
{
	int status = 0;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(begun), 0);
	pid = fork();
	if (pid == 0) {
		struct slow_job *s = job(NULL, 1);

		s->job.run = work_a_while;
		_exit(deadline_call(caller(NS_PER_S, HOUR_NS), &s->job) == 0 ? 0 : 1);
	}
	assert_int_equal(read(begun[0], &byte, 1), 1);
	kill(pid, SIGSTOP);
	usleep(STANDS_STILL_NS / 1000);
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(begun[0]);
	close(begun[1]);
	return status;
}

TEST(a_stopped_process_has_the_rest_of_the_time_when_it_continues)
{
	int status = 1;

	/* on a busy machine the rest may be too short for the job, but not every time */
	for (int tries = 0; status != 0 && tries < 50; tries++)
		status = call_and_stop();
	assert_int_equal(status, 0);
}

/* ---- jobs ---- */

TEST(a_job_in_time_stays_the_callers)
{
	CLEANUP(deadline_caller_freep) struct deadline_caller *c = caller(HOUR_NS, HOUR_NS);

	for (int i = 0; i < 100; i++)
		assert_int_equal(call_quick(c, 1), 0);
}

static void compute(struct deadline_job *j)
{
	struct slow_job *s = (struct slow_job *)j;
	uint64_t until_ns = clock_monotonic_ns() + 3 * LIMIT_NS;

	while (clock_monotonic_ns() < until_ns)
		;
	s->answer = 42;
}

/* As one that has no CPU to run on. */
TEST(a_job_that_waits_for_nothing_has_more_time)
{
	struct deadline_caller *c = caller(LIMIT_NS, HOUR_NS);
	struct slow_job *s = job(NULL, 1);

	s->job.run = compute;
	assert_int_equal(deadline_call(c, &s->job), 0);
	assert_int_equal(s->answer, 42);
	job_free(&s->job);
	deadline_caller_free(c);
}

TEST(a_job_that_hangs_is_left_alone_and_its_key_refused)
{
	CLEANUP(deadline_caller_freep) struct deadline_caller *c = caller(LIMIT_NS, HOUR_NS);
	uint64_t key = 8;
	sem_t gate;

	begin(&gate);
	assert_refused(c, &gate, 7, -ETIMEDOUT);
	assert_int_equal(atomic_load(&n_freed), 0);
	assert_refused(c, NULL, 7, -EBUSY);
	/* on a busy machine even a quick job may be late, and its key is then refused as well */
	while (call_quick(c, key) < 0)
		assert_true(++key < 100);
	sem_post(&gate);
	wait_for_freed();
	sem_destroy(&gate);
}

TEST(a_key_is_refused_for_a_while)
{
	CLEANUP(deadline_caller_freep)
	struct deadline_caller *c = caller(LIMIT_NS, 200 * NS_PER_MS);
	uint64_t begun_ns;
	sem_t gate;

	begin(&gate);
	begun_ns = clock_monotonic_ns();
	assert_refused(c, &gate, 7, -ETIMEDOUT);
	eventually(call_quick(c, 7) >= 0);
	assert_true(clock_monotonic_ns() - begun_ns >= 200 * NS_PER_MS);
	sem_post(&gate);
	wait_for_freed();
	sem_destroy(&gate);
}

static int call_once(struct deadline_caller *c, sem_t *gate, uint64_t key)
{
	struct slow_job *s = job(gate, key);
	int r;

	s->job.once = true;
	n_made++;
	r = deadline_call(c, &s->job);
	if (r == 0)
		job_free(&s->job);
	return r;
}

TEST(a_call_that_is_made_once_is_refused_until_it_returns)
{
	CLEANUP(deadline_caller_freep) struct deadline_caller *c = caller(LIMIT_NS / 5, HOUR_NS);
	sem_t gate;

	begin(&gate);
	assert_int_equal(call_once(c, &gate, 7), -ETIMEDOUT);
	assert_int_equal(call_once(c, NULL, 7), -EBUSY);
	/* others do not take its place */
	for (uint64_t key = 8; key < 8 + DEADLINE_CALL_MAX_STUCK - 1; key++)
		assert_refused(c, &gate, key, -ETIMEDOUT);
	assert_int_equal(call_once(c, NULL, 7), -EBUSY);
	for (int i = 0; i < DEADLINE_CALL_MAX_STUCK; i++)
		sem_post(&gate);
	/* not for a pause: an hour */
	eventually(call_once(c, NULL, 7) != -EBUSY);
	wait_for_freed();
	sem_destroy(&gate);
}

TEST(no_more_threads_than_the_maximum_get_stuck)
{
	struct deadline_caller *c = caller(LIMIT_NS / 5, HOUR_NS);
	sem_t gate;

	begin(&gate);
	for (uint64_t key = 0; key < DEADLINE_CALL_MAX_STUCK; key++)
		assert_refused(c, &gate, key, -ETIMEDOUT);
	assert_refused(c, NULL, 100, -EBUSY);
	deadline_caller_free(c); /* does not wait for stuck threads */
	for (int i = 0; i < DEADLINE_CALL_MAX_STUCK; i++)
		sem_post(&gate);
	wait_for_freed();
	sem_destroy(&gate);
}

static int make_one(void *arg)
{
	CLEANUP(deadline_caller_freep) struct deadline_caller *c = NULL;

	(void)arg;
	return deadline_caller_new(&c, NS_PER_S, NS_PER_S);
}

TEST(survives_every_failed_allocation)
{
	check_oom(make_one, NULL);
}
