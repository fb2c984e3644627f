#include "common/data/word_sort.h"
#include "test/lib/unit.h"

#define N 3000u

static uint64_t next(uint64_t *random)
{
	*random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *random >> 20;
}

/* What is behind the key of an item, 4 bytes a piece, goes with it. */
static void check(const uint64_t *keys, size_t n, size_t n_more)
{
	const size_t size = sizeof(uint64_t) + n_more * sizeof(uint32_t);
	AUTO_FREE char *items = calloc(n + 1, size);
	uint64_t sum = 0, sum_after = 0, last = 0;

	assert_non_null(items);
	for (size_t i = 0; i < n; i++) {
		sum += keys[i];
		memcpy(items + i * size, &keys[i], sizeof(keys[i]));
		for (size_t k = 0; k < n_more; k++) {
			uint32_t more = (uint32_t)(keys[i] * 31 + k);

			memcpy(items + i * size + sizeof(*keys) + k * sizeof(more), &more,
			       sizeof(more));
		}
	}
	word_sort(items, n, size);
	for (size_t i = 0; i < n; i++) {
		uint64_t key;

		memcpy(&key, items + i * size, sizeof(key));
		assert_true(last <= key);
		last = key;
		sum_after += key;
		for (size_t k = 0; k < n_more; k++) {
			uint32_t more;

			memcpy(&more, items + i * size + sizeof(key) + k * sizeof(more),
			       sizeof(more));
			assert_int_equal(more, (uint32_t)(key * 31 + k));
		}
	}
	assert_int_equal(sum, sum_after);
}

TEST(every_order_becomes_the_same)
{
	uint64_t keys[N], random = 1;

	for (size_t n = 0; n < N; n = n < 50 ? n + 1 : n * 2) {
		for (size_t n_more = 0; n_more <= 4; n_more++) {
			for (size_t i = 0; i < n; i++)
				keys[i] = next(&random);
			check(keys, n, n_more);
			for (size_t i = 0; i < n; i++)
				keys[i] = n - i;
			check(keys, n, n_more);
			for (size_t i = 0; i < n; i++)
				keys[i] = next(&random) % 3 << 56 | next(&random) % 5;
			check(keys, n, n_more);
			for (size_t i = 0; i < n; i++)
				keys[i] = UINT64_MAX;
			check(keys, n, n_more);
		}
	}
}
