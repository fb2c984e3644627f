#include "common/data/word_sort.h"
#include "test/lib/unit.h"

#define N 3000u

static uint64_t next(uint64_t *random)
{
	*random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *random >> 20;
}

/* The other words of an item go with the first one. */
static void check(const uint64_t *keys, size_t n, size_t n_words)
{
	uint64_t items[N * 3], sum = 0, sum_after = 0;

	for (size_t i = 0; i < n; i++) {
		sum += keys[i];
		for (size_t k = 0; k < n_words; k++)
			items[i * n_words + k] = keys[i] + k;
	}
	word_sort(items, n, n_words);
	for (size_t i = 0; i < n; i++) {
		sum_after += items[i * n_words];
		assert_true(i == 0 || items[(i - 1) * n_words] <= items[i * n_words]);
		for (size_t k = 1; k < n_words; k++)
			assert_int_equal(items[i * n_words + k], items[i * n_words] + k);
	}
	assert_int_equal(sum, sum_after);
}

static void every_order_becomes_the_same(void **state)
{
	uint64_t keys[N], random = 1;

	(void)state;
	for (size_t n = 0; n < N; n = n < 50 ? n + 1 : n * 2) {
		for (size_t n_words = 1; n_words <= 3; n_words++) {
			for (size_t i = 0; i < n; i++)
				keys[i] = next(&random);
			check(keys, n, n_words);
			for (size_t i = 0; i < n; i++)
				keys[i] = n - i;
			check(keys, n, n_words);
			for (size_t i = 0; i < n; i++)
				keys[i] = next(&random) % 3 << 56 | next(&random) % 5;
			check(keys, n, n_words);
			for (size_t i = 0; i < n; i++)
				keys[i] = UINT64_MAX;
			check(keys, n, n_words);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_order_becomes_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
