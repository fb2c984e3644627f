/*
 * Growing an array by doubling.
 */
#ifndef COMMON_DATA_ARRAY_H
#define COMMON_DATA_ARRAY_H

#include <errno.h>

#include "common/base.h"

/*
 * Moves items to room for at least n of this size and stores how many fit, at most cap_max. Returns
 * NULL, with items as they were, for lack of memory or if n is more than cap_max.
 */
void *array_grow(void *items, size_t *cap, size_t n, size_t item_bytes, size_t cap_max) MUST_CHECK;

/*
 * Makes room for n elements in the array `items`, for which there is room for `cap`, a variable of
 * any unsigned type. New elements are not set. Evaluates to 0 or -ENOMEM.
 */
#define ARRAY_RESERVE(items, cap, n)                                                    \
	({                                                                              \
		size_t cap_ = (cap), n_ = (n);                                          \
		int r_ = 0;                                                             \
                                                                                        \
		if (cap_ < n_) {                                                        \
			void *moved_ = array_grow((items), &cap_, n_, sizeof(*(items)), \
						  (__typeof__(cap))SIZE_MAX);           \
                                                                                        \
			if (moved_) {                                                   \
				(items) = moved_;                                       \
				(cap) = (__typeof__(cap))cap_;                          \
			} else {                                                        \
				r_ = -ENOMEM;                                           \
			}                                                               \
		}                                                                       \
		r_;                                                                     \
	})

#endif /* COMMON_DATA_ARRAY_H */
