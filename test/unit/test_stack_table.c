#include <errno.h>

#include "node-agent/go/stack_table.h"
#include "test/lib/unit.h"

#define MAX_BYTES ((size_t)8 << 20)

static struct stack_entry *find(struct stack_table *t, uint64_t number, size_t len)
{
	struct stack_entry *e = NULL;
	uint8_t key[256] = {0};

	memcpy(key, &number, sizeof(number));
	assert_int_equal(stack_table_find(t, key, len, &e), 0);
	return e;
}

static void test_equal_stacks_are_one(void **state)
{
	struct stack_table *t;

	(void)state;
	assert_int_equal(stack_table_new(&t, MAX_BYTES), 0);
	for (int turn = 0; turn < 2; turn++) {
		for (uint64_t i = 0; i < 20000; i++)
			find(t, i, 8 + i % 200)->values.v[i % 4] += (int64_t)i;
	}
	for (uint64_t i = 0; i < 20000; i++)
		assert_int_equal(find(t, i, 8 + i % 200)->values.v[i % 4], 2 * i);
	/* the same bytes and more of them are another stack */
	assert_ptr_not_equal(find(t, 1, 9), find(t, 1, 10));
	stack_table_free(t);
}

static void test_they_come_in_the_order_in_which_they_were_made(void **state)
{
	struct stack_cursor c = {0};
	struct stack_entry *e;
	struct stack_table *t;
	uint64_t n = 0;

	(void)state;
	assert_int_equal(stack_table_new(&t, MAX_BYTES), 0);
	assert_null(stack_table_next(t, &c));
	for (uint64_t i = 0; i < 20000; i++)
		(void)find(t, i, 8 + i % 200);
	while ((e = stack_table_next(t, &c))) {
		assert_memory_equal(e->key, &n, sizeof(n));
		assert_int_equal(e->len, 8 + n % 200);
		n++;
		stack_table_release(t, &c);
	}
	assert_int_equal(n, 20000);
	stack_table_free(t);
}

static void test_its_memory_is_limited(void **state)
{
	struct stack_table *t;
	struct stack_entry *e;
	uint8_t key[200] = {0};
	uint64_t n = 0;
	int r = 0;

	(void)state;
	assert_int_equal(stack_table_new(&t, 1 << 20), 0);
	for (; r == 0; n++) {
		memcpy(key, &n, sizeof(n));
		r = stack_table_find(t, key, sizeof(key), &e);
	}
	assert_int_equal(r, -ENOBUFS);
	assert_in_range(n * sizeof(key), 1 << 18, 1 << 20);
	stack_table_free(t);
}

static int make(void *arg)
{
	CLEANUP(stack_table_freep) struct stack_table *t = NULL;
	struct stack_entry *e;
	int r = stack_table_new(&t, MAX_BYTES);

	(void)arg;
	for (uint64_t i = 0; r == 0 && i < 3000; i++)
		r = stack_table_find(t, &i, sizeof(i), &e);
	return r;
}

static void test_failed_allocations_are_survived(void **state)
{
	(void)state;
	check_oom(make, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_stacks_are_one),
		cmocka_unit_test(test_they_come_in_the_order_in_which_they_were_made),
		cmocka_unit_test(test_its_memory_is_limited),
		cmocka_unit_test(test_failed_allocations_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
