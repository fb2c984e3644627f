#include <errno.h>

#include "node-agent/profile/stack_table.h"
#include "test/lib/unit.h"

#define MAX_BYTES ((size_t)16 << 20)
#define N_VALUES 3u

static void add(struct stack_table *t, uint64_t number, size_t len, struct stack_values values)
{
	uint8_t key[256] = {0};

	memcpy(key, &number, sizeof(number));
	assert_int_equal(stack_table_add(t, key, len, &values), 0);
}

static int64_t value_of(const struct stack_view *v, size_t value)
{
	return v->values[value];
}

static size_t len_of(uint64_t number)
{
	return 8 + number % 200;
}

/* Expects stacks 0 to n - 1, each once, with the values that expect() returns. */
static void check(struct stack_table *t, uint64_t n,
		  int64_t (*expect)(uint64_t number, size_t value))
{
	uint8_t *seen = calloc(n, 1);
	struct stack_view v;
	uint64_t n_seen = 0;
	size_t at = 0;

	assert_non_null(seen);
	stack_table_group(t);
	for (; stack_table_next(t, &at, &v); n_seen++) {
		uint64_t number;

		memcpy(&number, v.key, sizeof(number));
		assert_true(number < n && !seen[number]);
		seen[number] = 1;
		assert_int_equal(v.len, len_of(number));
		for (size_t i = 0; i < N_VALUES; i++)
			assert_int_equal(value_of(&v, i), expect(number, i));
	}
	assert_int_equal(n_seen, n);
	free(seen);
}

/* The sums of three turns: most need more bytes than the values added first. */
static int64_t sum(uint64_t number, size_t value)
{
	return value == number % N_VALUES ? (int64_t)(number * number * 3000 + 3) : 0;
}

TEST(test_equal_stacks_are_one)
{
	struct stack_table *t;

	assert_int_equal(stack_table_new(&t, N_VALUES, MAX_BYTES), 0);
	for (int64_t turn = 0; turn < 3; turn++) {
		for (uint64_t i = 0; i < 20000; i++) {
			struct stack_values values = {{0}};

			values.v[i % N_VALUES] = (int64_t)(i * i * 1000) * turn + 1;
			add(t, i, len_of(i), values);
		}
	}
	check(t, 20000, sum);
	stack_table_free(t);
}

TEST(test_the_same_bytes_and_more_are_another_stack)
{
	size_t at = 0;
	struct stack_table *t;
	struct stack_view v;

	assert_int_equal(stack_table_new(&t, N_VALUES, MAX_BYTES), 0);
	add(t, 1, 9, (struct stack_values){{1}});
	add(t, 1, 10, (struct stack_values){{1}});
	stack_table_group(t);
	assert_true(stack_table_next(t, &at, &v));
	assert_int_equal(v.len, 9);
	assert_true(stack_table_next(t, &at, &v));
	assert_int_equal(v.len, 10);
	assert_false(stack_table_next(t, &at, &v));
	stack_table_free(t);
}

TEST(test_sums_stay_at_the_end_of_what_fits)
{
	size_t at = 0;
	struct stack_table *t;
	struct stack_view v;

	assert_int_equal(stack_table_new(&t, N_VALUES, MAX_BYTES), 0);
	add(t, 1, 8, (struct stack_values){{1, -1, -5}});
	add(t, 1, 8, (struct stack_values){{INT64_MAX, INT64_MIN, 7}});
	stack_table_group(t);
	assert_true(stack_table_next(t, &at, &v));
	assert_int_equal(value_of(&v, 0), INT64_MAX);
	assert_int_equal(value_of(&v, 1), INT64_MIN);
	assert_int_equal(value_of(&v, 2), 2);
	assert_false(stack_table_next(t, &at, &v));
	stack_table_free(t);
}

TEST(test_stacks_without_a_value_are_left_out)
{
	size_t at = 0;
	struct stack_table *t;
	struct stack_view v;

	assert_int_equal(stack_table_new(&t, N_VALUES, MAX_BYTES), 0);
	add(t, 1, 8, (struct stack_values){{300, 0, 0}});
	add(t, 2, 8, (struct stack_values){{300, 0, 5}});
	add(t, 3, 8, (struct stack_values){{0}});
	add(t, 2, 8, (struct stack_values){{0, 0, 500000}});
	stack_table_forget(t, 0);
	stack_table_group(t);
	assert_true(stack_table_next(t, &at, &v));
	assert_int_equal(v.key[0], 2);
	assert_int_equal(value_of(&v, 0), 0);
	assert_int_equal(value_of(&v, 2), 500005);
	assert_false(stack_table_next(t, &at, &v));
	stack_table_free(t);
}

TEST(test_stacks_that_begin_alike_come_together)
{
	uint8_t seen[16] = {0};
	struct stack_table *t;
	struct stack_view v;
	uint8_t last = 0;
	size_t at = 0;

	assert_int_equal(stack_table_new(&t, N_VALUES, MAX_BYTES), 0);
	for (uint64_t i = 0; i < 10000; i++)
		add(t, (i << 32) | (i % 10 + 1), 12, (struct stack_values){{1}});
	stack_table_group(t);
	while (stack_table_next(t, &at, &v)) {
		if (v.key[0] != last)
			assert_int_equal(seen[v.key[0]]++, 0);
		last = v.key[0];
	}
	stack_table_free(t);
}

static int64_t one(uint64_t number, size_t value)
{
	(void)number;
	return value == 0;
}

TEST(test_once_cleared_it_is_empty_and_takes_others)
{
	struct stack_table *t;
	struct stack_view v;
	size_t full = 0, at = 0;

	assert_int_equal(stack_table_new(&t, N_VALUES, MAX_BYTES), 0);
	for (int turn = 0; turn < 3; turn++) {
		for (uint64_t i = 0; i < 5000; i++)
			add(t, i, len_of(i), (struct stack_values){{1}});
		check(t, 5000, one);
		if (turn == 0)
			full = stack_table_bytes(t);
		assert_int_equal(stack_table_bytes(t), full);
		stack_table_clear(t);
		assert_int_equal(stack_table_bytes(t), 0);
	}
	stack_table_group(t);
	assert_false(stack_table_next(t, &at, &v));
	stack_table_free(t);
}

TEST(test_its_memory_is_limited)
{
	const struct stack_values values = {{1}};
	struct stack_table *t;
	uint8_t key[200] = {0};
	uint64_t n = 0;
	int r = 0;

	assert_int_equal(stack_table_new(&t, N_VALUES, 1 << 20), 0);
	for (; r == 0; n++) {
		memcpy(key, &n, sizeof(n));
		r = stack_table_add(t, key, sizeof(key), &values);
	}
	assert_int_equal(r, -ENOBUFS);
	assert_in_range(n * sizeof(key), 1 << 18, 1 << 20);
	stack_table_free(t);
}

static int make(void *arg)
{
	CLEANUP(stack_table_freep) struct stack_table *t = NULL;
	int r = stack_table_new(&t, N_VALUES, MAX_BYTES);

	(void)arg;
	for (uint64_t i = 0; r == 0 && i < 3000; i++) {
		const struct stack_values values = {{(int64_t)i}};

		r = stack_table_add(t, &i, sizeof(i), &values);
		if (r == 0)
			r = stack_table_add(t, &i, sizeof(i), &values);
	}
	return r;
}

TEST(test_failed_allocations_are_survived)
{
	check_oom(make, NULL);
}
