/*
 * FNV-1a, 64 bit: the hash of stacks in ClickHouse. Coroot writes rows with the same hash, so
 * it must never change. Tables in memory use XXH3 instead (common/data/table.h).
 */
#ifndef COMMON_DATA_HASH_H
#define COMMON_DATA_HASH_H

#include "common/base.h"

#define FNV1A64_INIT UINT64_C(14695981039346656037)

#define FNV1A64_PRIME UINT64_C(1099511628211)

/* Extends hash h (FNV1A64_INIT at first) by len bytes. */
static inline uint64_t fnv1a64(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * FNV1A64_PRIME;
	return h;
}

#endif /* COMMON_DATA_HASH_H */
