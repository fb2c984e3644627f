/*
 * Finds elements by their hash: a hash table with open addressing whose elements lie elsewhere and
 * are known by number. Grows by doubling; nothing is removed. Pure.
 *
 * The owner keeps the elements, usually in an array, and compares keys:
 *
 *	uint32_t at = hash, number;
 *
 *	while (number_index_next(&x, hash, &at, &number)) {
 *		if (elements[number] equals the key)
 *			return number;
 *	}
 *
 * If the key is a number, number_index_find() is that loop.
 *
 * A slot has half of it for the hash, so hardly any wrong element is compared, and growing does
 * not hash anything again. An element costs 11 to 22 bytes here; common/data/table.h takes about
 * 80, and needs no array.
 */
#ifndef COMMON_DATA_NUMBER_INDEX_H
#define COMMON_DATA_NUMBER_INDEX_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/table.h"

/* All zero: empty. */
struct number_index {
	uint64_t *slots;  /* upper half: the hash; lower half: 1 + the number. 0: free */
	uint32_t n_slots; /* 0 or a power of two; at most 3 of 4 are taken */
	uint32_t n;
	struct arena *arena; /* has the slots, which number_index_fini() leaves; NULL: malloc(3) */
};

void number_index_fini(struct number_index *x);

/* Makes room for n numbers in all. Returns what number_index_add() does. */
int number_index_reserve(struct number_index *x, uint32_t n) MUST_CHECK;

/* Removes all elements and keeps the memory. */
void number_index_clear(struct number_index *x);

/* The next number that was added with this hash; *at begins as the hash. Returns false if none. */
static inline bool number_index_next(const struct number_index *x, uint32_t hash, uint32_t *at,
				     uint32_t *ret)
{
	while (x->n_slots > 0) {
		uint64_t slot = x->slots[(*at)++ & (x->n_slots - 1)];

		if (slot == 0)
			break;
		if (slot >> 32 == hash) {
			*ret = (uint32_t)slot - 1;
			return true;
		}
	}
	return false;
}

/*
 * The hash of a key that is a number. Nobody who chooses keys knows the seed. Bits of a key only
 * take part in those of a product above them, so the upper half is mixed into the lower one.
 */
static inline uint32_t number_hash(uint64_t key)
{
	uint64_t product = key * (table_seed | 1);

	return (uint32_t)((product ^ product >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/*
 * Finds the element with this key in an array of structs of that size which begin with their key, a
 * uint64_t, and which were added by its number_hash(). Returns false if there is none.
 */
static inline bool number_index_find(const struct number_index *x, uint64_t key,
				     const void *elements, size_t size, uint32_t *ret)
{
	uint32_t hash = number_hash(key), at = hash;

	while (number_index_next(x, hash, &at, ret)) {
		const char *element = (const char *)elements + *ret * size;

		if (*(const uint64_t *)(const void *)element == key)
			return true;
	}
	return false;
}

/*
 * Adds a number below UINT32_MAX. Returns 0, -ENOMEM, or -EFBIG if the limit of the arena is
 * exceeded.
 */
int number_index_add(struct number_index *x, uint32_t hash, uint32_t number) MUST_CHECK;

/* Bytes of the slots once one more number is added. */
size_t number_index_bytes_with_one_more(const struct number_index *x);

#endif /* COMMON_DATA_NUMBER_INDEX_H */
