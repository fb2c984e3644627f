/*
 * Sorts items of a few words each by their first word, in place. The time is linear in the
 * number of items. Not stable.
 */
#ifndef COMMON_DATA_WORD_SORT_H
#define COMMON_DATA_WORD_SORT_H

#include "common/base.h"

#define WORD_SORT_WORDS_MAX 8u /* of an item */

/* n items of n_words words, at most UINT32_MAX of them. */
void word_sort(uint64_t *items, size_t n, size_t n_words);

#endif /* COMMON_DATA_WORD_SORT_H */
