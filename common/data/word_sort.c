/*
 * An "American flag" sort: a radix sort by bytes from the highest one, which counts how many
 * items belong into each of 256 ranges and swaps every item into its range, then sorts the
 * ranges by the next byte. It needs no second array, as other radix sorts do, and no
 * comparisons. It starts at the highest byte in which the items differ, because addresses share
 * their upper ones. Ranges of a few items are sorted by insertion, and input that is sorted is left
 * alone.
 */
#include "common/data/word_sort.h"

#include <assert.h>

#define BYTE_BITS 8u
#define BYTES 256u
#define FEW_ITEMS 16u

struct items {
	char *base;
	size_t size; /* of an item */
};

static char *item_at(const struct items *s, size_t i)
{
	return s->base + i * s->size;
}

static uint64_t key_at(const struct items *s, size_t i)
{
	uint64_t key;

	memcpy(&key, item_at(s, i), sizeof(key));
	return key;
}

static void swap_items(const struct items *s, size_t a, size_t b)
{
	char *x = item_at(s, a), *y = item_at(s, b);
	size_t at = 0;

	for (; at + sizeof(uint64_t) <= s->size; at += sizeof(uint64_t)) {
		uint64_t from_x, from_y;

		memcpy(&from_x, x + at, sizeof(from_x));
		memcpy(&from_y, y + at, sizeof(from_y));
		memcpy(x + at, &from_y, sizeof(from_y));
		memcpy(y + at, &from_x, sizeof(from_x));
	}
	if (at < s->size) {
		uint32_t from_x, from_y;

		memcpy(&from_x, x + at, sizeof(from_x));
		memcpy(&from_y, y + at, sizeof(from_y));
		memcpy(x + at, &from_y, sizeof(from_y));
		memcpy(y + at, &from_x, sizeof(from_x));
	}
}

static void sort_few(const struct items *s, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++) {
		for (size_t k = i; k > begin && key_at(s, k - 1) > key_at(s, k); k--)
			swap_items(s, k - 1, k);
	}
}

static unsigned byte_at(const struct items *s, size_t i, unsigned shift)
{
	return key_at(s, i) >> shift & (BYTES - 1);
}

/* Sorts items that are equal in the bytes above the one at shift. */
static void sort_range(const struct items *s, size_t begin, size_t end, unsigned shift)
{
	uint32_t next[BYTES] = {0}, ends[BYTES];
	size_t at = begin;

	if (end - begin <= FEW_ITEMS) {
		sort_few(s, begin, end);
		return;
	}
	for (size_t i = begin; i < end; i++)
		next[byte_at(s, i, shift)]++;
	for (unsigned b = 0; b < BYTES; b++) {
		at += next[b];
		ends[b] = (uint32_t)at;
		next[b] = (uint32_t)at - next[b];
	}
	for (unsigned b = 0; b < BYTES; b++) {
		while (next[b] < ends[b]) {
			unsigned belongs = byte_at(s, next[b], shift);

			if (belongs != b)
				swap_items(s, next[b], next[belongs]);
			next[belongs]++;
		}
	}
	for (unsigned b = 0; shift > 0 && b < BYTES; b++) {
		size_t from = b > 0 ? ends[b - 1] : begin;

		if (ends[b] - from > 1)
			sort_range(s, from, ends[b], shift - BYTE_BITS);
	}
}

void word_sort(void *items, size_t n, size_t item_bytes)
{
	const struct items s = {items, item_bytes};
	uint64_t differs = 0;
	bool is_sorted = true;

	assert(item_bytes >= sizeof(uint64_t) && item_bytes % sizeof(uint32_t) == 0);
	for (size_t i = 1; i < n; i++) {
		differs |= key_at(&s, i) ^ key_at(&s, 0);
		is_sorted &= key_at(&s, i - 1) <= key_at(&s, i);
	}
	if (!is_sorted)
		sort_range(&s, 0, n,
			   (63u - (unsigned)__builtin_clzll(differs)) / BYTE_BITS * BYTE_BITS);
}
