/*
 * Sorts in place. glibc's qsort(3) allocates a copy of the array, which for symbol tables would
 * double the agent's peak memory. Not stable.
 */
#ifndef COMMON_DATA_HEAP_SORT_H
#define COMMON_DATA_HEAP_SORT_H

#include "common/base.h"

#define HEAP_SORT_ELEMENT_MAX_BYTES 40u

/* less than 0, 0 or greater than 0, as for qsort(3) */
typedef int heap_sort_compare(const void *a, const void *b);

/* size is at most HEAP_SORT_ELEMENT_MAX_BYTES. */
void heap_sort(void *base, size_t n, size_t size, heap_sort_compare *compare);

#endif /* COMMON_DATA_HEAP_SORT_H */
