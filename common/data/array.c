#include "common/data/array.h"

#define FIRST_ITEMS 16u

void *array_grow(void *items, size_t *cap, size_t n, size_t item_bytes, size_t cap_max)
{
	size_t more = *cap ? *cap : FIRST_ITEMS;
	void *moved;

	while (more < n && more <= SIZE_MAX / 2)
		more *= 2;
	moved = more >= n && more <= cap_max ? reallocarray(items, more, item_bytes) : NULL;
	if (moved)
		*cap = more;
	return moved;
}
