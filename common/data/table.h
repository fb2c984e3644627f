/*
 * Hash tables: uthash, told to survive a failed allocation and to hash by
 * XXH3. Include this, never <uthash.h>.
 *
 * Keys come from the network and from other processes, so the hash is seeded
 * at random per process; nothing observable may depend on its value
 * (iteration is in order of insertion and does not).
 *
 * A HASH_ADD may fail for lack of memory. The table is then as before; ask
 * TABLE_ADDED() after every one and free the element yourself when it is false.
 */
#ifndef COMMON_DATA_TABLE_H
#define COMMON_DATA_TABLE_H

#include "common/base.h"

#define XXH_INLINE_ALL
/* its always_inline does not compile at -Og, and at -O2 makes nothing faster */
#define XXH_NO_INLINE_HINTS 1
#include <xxhash.h>

/*
 * malloc(3) and free(3) behind a call: gcc's analyzer follows neither a table
 * through uthash's macros nor, without this, its memory, and reports leaks.
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

/* Whether the HASH_ADD just made took the element in; hh is the handle's field. */
#define TABLE_ADDED(hh, element) ((element)->hh.tbl != NULL)

#endif /* COMMON_DATA_TABLE_H */
