/* Lists of libraries that one runtime leaves to another one. */
#include <errno.h>
#include <pthread.h>

#include "common/system/clock.h"
#include "node-agent/runtime/library_lists.h"
#include "test/lib/unit.h"

#define N 3
#define ROUNDS 2000

static const struct file_id files[N] = {{1, 10, 4096, 1}, {1, 11, 4096, 1}, {2, 10, 4096, 1}};

static struct program_id program(pid_t pid)
{
	return (struct program_id){.pid = pid, .start_time = 100, .exe = {1, 5, 4096, 1}};
}

static void put(struct library_lists *l, pid_t pid, uint64_t now_ns)
{
	const struct program_id id = program(pid);
	const struct library_list of = {&id, 70, "go", now_ns};

	library_lists_put(l, &of, files, N);
}

static int take(struct library_lists *l, pid_t pid, uint64_t now_ns)
{
	const struct program_id id = program(pid);
	const struct library_list of = {&id, 70, "java", now_ns};
	struct file_id got[N];
	int n = library_lists_take(l, &of, got, N);

	if (n > 0)
		assert_memory_equal(got, files, (size_t)n * sizeof(*got));
	return n;
}

TEST(another_runtime_takes_a_list_once)
{
	CLEANUP(library_lists_unrefp) struct library_lists *l = NULL;
	const struct program_id id = program(7);
	const struct library_list own = {&id, 70, "go", 2}, java = {&id, 70, "java", 2};
	struct file_id got[N];

	assert_int_equal(library_lists_new(&l), 0);
	assert_int_equal(take(l, 7, 1), -ENOENT);
	put(l, 7, 1);
	put(l, 8, 1);
	/* what a runtime has listed itself is not what is mapped now */
	assert_int_equal(library_lists_take(l, &own, got, N), -ENOENT);
	assert_int_equal(take(l, 7, 2), N);
	assert_int_equal(take(l, 7, 2), -ENOENT);
	assert_int_equal(take(l, 8, 2), N);
	/* a process without libraries */
	library_lists_put(l, &own, NULL, 0);
	assert_int_equal(take(l, 7, 2), 0);
	put(l, 7, 1);
	assert_int_equal(library_lists_take(l, &java, got, N - 1), -ENOENT);
}

TEST(a_list_of_something_else_is_not_taken)
{
	CLEANUP(library_lists_unrefp) struct library_lists *l = NULL;
	struct program_id later = program(7), other = program(7);
	const struct library_list lists[] = {
		{&later, 70, "java", 2},
		{&other, 70, "java", 2},
		{&(struct program_id){.pid = 7, .start_time = 100, .exe = {1, 5, 0, 0}}, 71, "java",
		 2},
		{&(struct program_id){.pid = 7, .start_time = 100, .exe = {1, 5, 0, 0}}, 70, "java",
		 2 + LIBRARY_LISTS_MAX_AGE_NS},
	};
	struct file_id got[N];

	assert_int_equal(library_lists_new(&l), 0);
	later.start_time++;
	other.exe.ino++;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		put(l, 7, 1);
		assert_int_equal(library_lists_take(l, &lists[i], got, N), -ENOENT);
		assert_int_equal(take(l, 7, 2), -ENOENT); /* it is useless from then on */
	}
	put(l, 7, 5);
	assert_int_equal(take(l, 7, 4), N); /* two threads ask for the time */
}

TEST(lists_that_nobody_takes_make_room)
{
	CLEANUP(library_lists_unrefp) struct library_lists *l = NULL;
	const pid_t most = LIBRARY_LISTS_FILES_MAX / N;

	assert_int_equal(library_lists_new(&l), 0);
	for (pid_t pid = 1; pid <= most + 1; pid++)
		put(l, pid, 1);
	assert_int_equal(take(l, 1, 1), -ENOENT);
	assert_int_equal(take(l, 2, 1), N);
	assert_int_equal(take(l, most + 1, 1), N);
	put(l, 1, 1);
	put(l, 1, 2); /* in the place of the one before */
	for (pid_t pid = 1; pid <= most; pid++)
		put(l, pid, 2);
	assert_int_equal(take(l, 1, 2), N);
	assert_int_equal(take(l, most, 2), N);
}

struct thread {
	pthread_t thread;
	struct library_lists *l; /* a reference */
	unsigned n_taken;
};

static void *take_all(void *arg)
{
	struct thread *t = arg;

	for (unsigned i = 0; i < ROUNDS; i++)
		t->n_taken += take(t->l, (pid_t)(1 + i % 50), 1) == N;
	library_lists_unref(t->l);
	return NULL;
}

/* TSan watches this one. */
TEST(threads_share_lists)
{
	struct thread threads[2];
	struct library_lists *l;

	assert_int_equal(library_lists_new(&l), 0);
	for (pid_t pid = 1; pid <= 50; pid++)
		put(l, pid, 1);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		threads[i] = (struct thread){.l = library_lists_ref(l)};
		assert_int_equal(pthread_create(&threads[i].thread, NULL, take_all, &threads[i]),
				 0);
	}
	for (unsigned i = 0; i < ROUNDS; i++)
		put(l, (pid_t)(1 + i % 50), 1);
	library_lists_unref(l);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i].thread, NULL);
	assert_true(threads[0].n_taken + threads[1].n_taken >= 50);
}

static int put_and_take(void *arg)
{
	CLEANUP(library_lists_unrefp) struct library_lists *l = NULL;
	int r = library_lists_new(&l);

	(void)arg;
	if (r < 0)
		return r;
	put(l, 7, 1);
	r = take(l, 7, 1);
	return r == -ENOENT ? -ENOMEM : r < 0 ? r : 0;
}

TEST(failed_allocations_are_survived)
{
	check_oom(put_and_take, NULL);
}
