#include <errno.h>

#include "node-agent/runtime/due_heap.h"
#include "test/lib/unit.h"

#define N 200u

/* The same numbers each time. */
static uint64_t next_number(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 40;
}

static struct due *slow_first(struct due *all, const bool *in)
{
	struct due *first = NULL;

	for (size_t i = 0; i < N; i++) {
		if (in[i] && (!first || all[i].ns < first->ns))
			first = &all[i];
	}
	return first;
}

static void assert_first(const struct due_heap *h, struct due *all, const bool *in)
{
	const struct due *first = slow_first(all, in), *got = due_heap_first(h);

	assert_true(!first == !got);
	if (first)
		assert_int_equal(got->ns, first->ns);
}

TEST(test_the_first_is_always_the_one_due_first)
{
	struct due all[N] = {0};
	struct due_heap h = {0};
	bool in[N] = {false};
	uint64_t seed = 1;

	assert_null(due_heap_first(&h));
	for (unsigned step = 0; step < 20000; step++) {
		size_t i = next_number(&seed) % N;
		uint64_t ns = next_number(&seed) % 1000;

		if (!in[i])
			assert_int_equal(due_heap_add(&h, &all[i], ns), 0);
		else if (ns % 3 == 0)
			due_heap_remove(&h, &all[i]);
		else
			due_heap_move(&h, &all[i], ns);
		in[i] = !in[i] || ns % 3 != 0;
		assert_first(&h, all, in);
	}
	for (size_t i = 0; i < N; i++) {
		due_heap_remove(&h, &all[i]); /* those that are in none, too */
		in[i] = false;
		assert_first(&h, all, in);
	}
	assert_null(due_heap_first(&h));
	due_heap_fini(&h);
}

static int add_some(void *arg)
{
	struct due all[100] = {0};
	struct due_heap h = {0};
	int r = 0;

	(void)arg;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(all); i++) {
		r = due_heap_add(&h, &all[i], i);
		assert_true(r == 0 || all[i].place == 0);
	}
	due_heap_fini(&h);
	return r;
}

TEST(test_failed_allocations_are_survived)
{
	check_oom(add_some, NULL);
}
