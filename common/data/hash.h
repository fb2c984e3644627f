/*
 * FNV-1a, 64 bit: the hash of stacks in ClickHouse, shared with Coroot's own
 * rows, so it never changes. Tables in memory use xxhash instead.
 */
#ifndef COMMON_DATA_HASH_H
#define COMMON_DATA_HASH_H

#include "common/base.h"

#define FNV1A64_INIT UINT64_C(14695981039346656037)

/* Continue hash h (FNV1A64_INIT to begin) over len bytes. */
uint64_t fnv1a64(uint64_t h, const void *data, size_t len);

#endif /* COMMON_DATA_HASH_H */
