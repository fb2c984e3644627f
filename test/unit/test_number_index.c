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
