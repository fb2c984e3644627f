#include "common/data/hash_index.h"

#define MIN_BITS 4u

int hash_index_init(struct hash_index *x, struct arena *a, uint32_t n_max, const void *elements,
		    size_t size)
{
	*x = (struct hash_index){.bits = MIN_BITS, .elements = elements, .size = size};
	while ((UINT64_C(1) << x->bits) < 2 * (uint64_t)n_max)
		x->bits++;
	x->slots = arena_calloc(a, (size_t)1 << x->bits, sizeof(*x->slots));
	return x->slots ? 0 : arena_error(a, sizeof(*x->slots) << x->bits);
}
