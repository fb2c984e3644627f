/*
 * Sorts items by their first 8 bytes as a uint64_t, in place. The time is linear in the number of
 * items. Not stable.
 */
#ifndef COMMON_DATA_WORD_SORT_H
#define COMMON_DATA_WORD_SORT_H

#include "common/base.h"

/* n is at most UINT32_MAX, item_bytes a multiple of 4 and at least 8. */
void word_sort(void *items, size_t n, size_t item_bytes);

#endif /* COMMON_DATA_WORD_SORT_H */
