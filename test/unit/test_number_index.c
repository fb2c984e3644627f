#include <errno.h>

#include "common/data/array.h"
#include "common/data/number_index.h"
#include "test/lib/unit.h"

/* Numbers with this hash, as one sum. */
static uint32_t sum_of(const struct number_index *x, uint32_t hash)
{
	uint32_t at = hash, number, sum = 0;

	while (number_index_next(x, hash, &at, &number))
		sum += number;
	return sum;
}

TEST(every_number_is_found_by_its_hash)
{
	CLEANUP(number_index_fini) struct number_index x = {0};

	assert_int_equal(sum_of(&x, 7), 0);
	for (uint32_t i = 1; i < 10000; i++)
		assert_int_equal(number_index_add(&x, i * 2654435761u, i), 0);
	assert_int_equal(x.n, 9999);
	for (uint32_t i = 1; i < 10000; i++)
		assert_int_equal(sum_of(&x, i * 2654435761u), i);
	assert_int_equal(sum_of(&x, 1), 0);
	number_index_clear(&x);
	assert_int_equal(x.n, 0);
	assert_int_equal(sum_of(&x, 2654435761u), 0);
}

/* Hashes of which many share a slot, at the end of the slots too. */
TEST(equal_hashes_and_neighbours_are_kept_apart)
{
	CLEANUP(number_index_fini) struct number_index x = {0};

	for (uint32_t i = 0; i < 30; i++) {
		assert_int_equal(number_index_add(&x, UINT32_MAX, i), 0);
		assert_int_equal(number_index_add(&x, UINT32_MAX - (i << 16), 1000), 0);
	}
	assert_int_equal(sum_of(&x, UINT32_MAX), 29 * 30 / 2 + 1000);
	assert_int_equal(sum_of(&x, UINT32_MAX - (5 << 16)), 1000);
}

TEST(the_bytes_announced_are_those_taken)
{
	CLEANUP(number_index_fini) struct number_index x = {0};

	for (uint32_t i = 0; i < 1000; i++) {
		size_t bytes = number_index_bytes_with_one_more(&x);

		assert_int_equal(number_index_add(&x, i, i), 0);
		assert_int_equal(bytes, x.n_slots * sizeof(*x.slots));
		assert_true(x.n <= x.n_slots / 4 * 3);
	}
}

struct element {
	uint64_t key;
	uint32_t value;
};

#define N 1000u

static int fill_elements(struct number_index *x, struct element *elements, uint64_t step)
{
	int r = number_index_reserve(x, N);

	for (uint32_t i = 0; r == 0 && i < N; i++) {
		uint32_t number;

		assert_false(number_index_find(x, i * step, elements, sizeof(*elements), &number));
		elements[i] = (struct element){i * step, i};
		r = number_index_add(x, number_hash(i * step), i);
	}
	return r;
}

TEST(an_element_is_found_by_its_key_and_no_other)
{
	/* counting in the low bits, in the high ones, and in both */
	static const uint64_t steps[] = {1, UINT64_C(1) << 54, UINT64_C(0x100000001)};
	struct element elements[N];

	for (size_t s = 0; s < ARRAY_SIZE(steps); s++) {
		CLEANUP(arena_fini) struct arena arena;
		struct number_index x = {.arena = &arena};
		uint32_t number, n_slots;

		arena_init(&arena, 1 << 20);
		assert_int_equal(number_index_reserve(&x, N), 0);
		n_slots = x.n_slots;
		assert_int_equal(fill_elements(&x, elements, steps[s]), 0);
		assert_int_equal(x.n_slots, n_slots);
		for (uint32_t i = 0; i < N; i++) {
			assert_true(number_index_find(&x, i * steps[s], elements, sizeof(*elements),
						      &number));
			assert_int_equal(number, i);
		}
		assert_false(
			number_index_find(&x, N * steps[s], elements, sizeof(*elements), &number));
	}
}

TEST(a_limit_is_not_a_lack_of_memory)
{
	CLEANUP(arena_fini) struct arena arena;
	struct number_index x = {.arena = &arena};
	struct element elements[1];
	uint32_t number;

	arena_init(&arena, 4096);
	assert_int_equal(number_index_reserve(&x, N), -EFBIG);
	assert_int_equal(number_index_reserve(&x, 0), 0);
	assert_false(number_index_find(&x, 7, elements, sizeof(*elements), &number));
}

/* With a constant factor for a hash, these keys would share one slot and take minutes. */
TEST(chosen_keys_do_not_share_a_slot)
{
	CLEANUP(number_index_fini) struct number_index x = {0};
	const uint64_t inverse = UINT64_C(0xf1de83e19937733d); /* of 0x9e3779b97f4a7c15 */

	for (uint64_t i = 0; i < 400000; i++) {
		uint64_t key = ((i & 0xfff) << 52 | i >> 12) * inverse;

		assert_int_equal(number_index_add(&x, number_hash(key), (uint32_t)i), 0);
	}
}

static int fill_in_arena(void *arg)
{
	CLEANUP(arena_fini) struct arena arena;
	struct number_index x = {.arena = &arena};

	arena_init(&arena, 1 << 20);
	return fill_elements(&x, arg, 1);
}

TEST(survives_every_failed_allocation_in_an_arena)
{
	struct element elements[N];

	check_oom(fill_in_arena, elements);
}

TEST(an_array_grows_to_what_is_asked_for)
{
	uint16_t cap = 0;
	uint32_t *items = NULL;

	assert_int_equal(ARRAY_RESERVE(items, cap, 0), 0);
	assert_null(items);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(ARRAY_RESERVE(items, cap, i + 1), 0);
		items[i] = i;
	}
	assert_int_equal(cap, 1024);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	assert_int_equal(ARRAY_RESERVE(items, cap, 1024), 0);
	assert_int_equal(cap, 1024);
	/* more than the variable can say */
	assert_int_equal(ARRAY_RESERVE(items, cap, 40000), -ENOMEM);
	assert_int_equal(cap, 1024);
	free(items);
}

static int fill(void *arg)
{
	CLEANUP(number_index_fini) struct number_index x = {0};
	uint32_t *items = NULL;
	uint32_t cap = 0;
	int r = 0;

	(void)arg;
	for (uint32_t i = 0; r == 0 && i < 300; i++) {
		r = ARRAY_RESERVE(items, cap, i + 1);
		if (r == 0)
			r = number_index_add(&x, i, i);
	}
	free(items);
	return r;
}

TEST(survives_every_failed_allocation)
{
	check_oom(fill, NULL);
}
