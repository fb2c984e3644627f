/*
 * Finds elements of an array by their 64-bit hash, which is the key: equal hashes are equal
 * elements. Everything lies in an arena, and the greatest number of elements is known
 * beforehand. Pure.
 *
 * It exists beside table.h because every stack of every profile passes it: by "make
 * bench-tables", line hash_index, 20,000 stacks of 16 bytes that are met twice cost 11 ns and
 * 48 bytes each, those bytes included, against 137 ns and 103 bytes in a table.h.
 */
#ifndef COMMON_DATA_HASH_INDEX_H
#define COMMON_DATA_HASH_INDEX_H

#include "common/base.h"
#include "common/data/arena.h"

struct hash_index {
	uint32_t *slots; /* index of an element + 1; 0: free. At most half of them are taken */
	unsigned bits;   /* log2 of their number */
	const char *elements;
	size_t size; /* of an element */
};

/*
 * elements is an array of structs of that size which begin with their hash, a uint64_t; the caller
 * adds at most n_max. Returns 0, -EFBIG if the slots exceed the limit of a, or -ENOMEM.
 */
int hash_index_init(struct hash_index *x, struct arena *a, uint32_t n_max, const void *elements,
		    size_t size) MUST_CHECK;

/*
 * Returns the slot of the element with that hash. If the slot is 0 there is none: the caller
 * adds it to the array and sets the slot to its index + 1.
 */
static inline uint32_t *hash_index_slot(const struct hash_index *x, uint64_t hash)
{
	/* senders may choose names whose hashes collide in some bits: the product depends on all */
	uint32_t i = (uint32_t)(hash * UINT64_C(0x9e3779b97f4a7c15) >> (64 - x->bits));
	uint32_t mask = (UINT32_C(1) << x->bits) - 1;

	for (;; i = (i + 1) & mask) {
		const char *element;

		if (x->slots[i] == 0)
			return &x->slots[i];
		element = x->elements + (size_t)(x->slots[i] - 1) * x->size;
		if (*(const uint64_t *)(const void *)element == hash)
			return &x->slots[i];
	}
}

#endif /* COMMON_DATA_HASH_INDEX_H */
