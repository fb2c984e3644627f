/*
 * FNV-1a, 64 bit: the hash of stacks in ClickHouse. Coroot writes rows with the same hash, so
 * it must never change. Tables in memory use XXH3 instead (common/data/table.h).
 */
#ifndef COMMON_DATA_HASH_H
#define COMMON_DATA_HASH_H

#include "common/base.h"

#define FNV1A64_INIT UINT64_C(14695981039346656037)

/* Extends hash h (FNV1A64_INIT at first) by len bytes. */
uint64_t fnv1a64(uint64_t h, const void *data, size_t len);

#endif /* COMMON_DATA_HASH_H */
