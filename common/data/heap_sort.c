/*
 * "Bottom-up" heap sort: sift() moves the hole down to a leaf first, and then climbs back to
 * where the value belongs. That takes one comparison per level instead of two. Input that is
 * sorted already, the common case with the symbols that a linker writes, is left alone.
 */
#include "common/data/heap_sort.h"

#include <assert.h>

struct heap {
	char *base;
	size_t size;
	heap_sort_compare *compare;
};

static char *at(const struct heap *h, size_t i)
{
	return h->base + i * h->size;
}

static bool is_sorted(const struct heap *h, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (h->compare(at(h, i - 1), at(h, i)) > 0)
			return false;
	}
	return true;
}

/* Puts value into its place below the hole at root, in a heap of n elements. */
static void sift(const struct heap *h, size_t root, size_t n, const char *value)
{
	size_t hole = root;

	while (2 * hole + 2 < n) {
		size_t child = 2 * hole + 1;

		child += h->compare(at(h, child), at(h, child + 1)) < 0;
		memcpy(at(h, hole), at(h, child), h->size);
		hole = child;
	}
	if (2 * hole + 1 < n) {
		memcpy(at(h, hole), at(h, 2 * hole + 1), h->size);
		hole = 2 * hole + 1;
	}
	while (hole > root) {
		size_t parent = (hole - 1) / 2;

		if (h->compare(at(h, parent), value) >= 0)
			break;
		memcpy(at(h, hole), at(h, parent), h->size);
		hole = parent;
	}
	memcpy(at(h, hole), value, h->size);
}

void heap_sort(void *base, size_t n, size_t size, heap_sort_compare *compare)
{
	const struct heap h = {base, size, compare};
	char value[HEAP_SORT_ELEMENT_MAX_BYTES];

	assert(size <= sizeof(value));
	if (is_sorted(&h, n))
		return;
	for (size_t i = n / 2; i-- > 0;) {
		memcpy(value, at(&h, i), size);
		sift(&h, i, n, value);
	}
	for (size_t end = n; end-- > 1;) {
		memcpy(value, at(&h, end), size);
		memcpy(at(&h, end), at(&h, 0), size);
		sift(&h, 0, end, value);
	}
}
