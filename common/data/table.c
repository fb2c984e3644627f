#include "common/data/table.h"

#include <sys/random.h>

uint64_t table_seed;

__attribute__((constructor)) static void choose_seed(void)
{
	uint64_t seed;

	/* early in boot there may be no entropy; rather than wait for it, run with seed 0 */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
		table_seed = seed;
}

void *table_malloc(size_t size)
{
	return malloc(size);
}

void table_free(void *p)
{
	free(p);
}
