#include "common/data/hash.h"

#define FNV1A64_PRIME UINT64_C(1099511628211)

uint64_t fnv1a64(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * FNV1A64_PRIME;
	return h;
}
