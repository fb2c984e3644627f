#include "common/data/heap_sort.h"
#include "test/lib/unit.h"

struct item {
	uint32_t key;
	uint32_t copy;
	uint32_t other;
};

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

TEST(every_order_becomes_the_same)
{
	struct item items[300];
	uint32_t random = 1;

	for (size_t n = 0; n < ARRAY_SIZE(items); n++) {
		uint64_t sum = 0, sum_after = 0;

		for (size_t i = 0; i < n; i++) {
			random = random * 1664525u + 1013904223u;
			items[i] = (struct item){random >> 24, random >> 24, 7};
			sum += items[i].key;
		}
		heap_sort(items, n, sizeof(*items), compare);
		for (size_t i = 0; i < n; i++) {
			sum_after += items[i].key;
			assert_int_equal(items[i].copy, items[i].key);
			assert_true(i == 0 || items[i - 1].key <= items[i].key);
		}
		assert_int_equal(sum, sum_after);
	}
}
