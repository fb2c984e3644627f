/*
 * Hash tables: uthash, configured to survive a failed allocation and to hash with XXH3. Include
 * this, never <uthash.h>.
 *
 * Keys come from the network and from other processes, so the hash has a seed that is random
 * per process; nothing observable may depend on its value (iteration does not: it is in order
 * of insertion).
 *
 * HASH_ADD may fail for lack of memory, which leaves the table as it was. Check TABLE_ADDED()
 * after every HASH_ADD, and free the element if it is false.
 *
 * The handle and its share of the buckets add some 80 bytes to an element. Elements that stay until
 * all of them go are found with a quarter of that by common/data/number_index.h.
 */
#ifndef COMMON_DATA_TABLE_H
#define COMMON_DATA_TABLE_H

#include "common/base.h"

#define XXH_INLINE_ALL
/* XXH3's always_inline does not compile at -Og, and makes nothing faster at -O2 */
#define XXH_NO_INLINE_HINTS 1
#include <xxhash.h>

/*
 * malloc(3) and free(3) in functions of their own: gcc's analyzer cannot follow a table through
 * uthash's macros, and would report its memory as leaked.
 */
void *table_malloc(size_t size);
void table_free(void *p);

#define uthash_malloc(size) table_malloc(size)
#define uthash_free(p, size) table_free(p)
#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(key, len, hashv) ((hashv) = table_hash(key, len))
#include <uthash.h>

/* Set before main(), constant afterwards. */
extern uint64_t table_seed;

static inline uint32_t table_hash(const void *key, size_t len)
{
	return (uint32_t)XXH3_64bits_withSeed(key, len, table_seed);
}

/* Whether the last HASH_ADD of this element succeeded; hh is the field of its handle. */
#define TABLE_ADDED(hh, element) ((element)->hh.tbl != NULL)

#endif /* COMMON_DATA_TABLE_H */
