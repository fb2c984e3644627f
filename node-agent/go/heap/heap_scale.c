#include "node-agent/go/heap/heap_scale.h"

#include <math.h>

/* Counters of a broken process can have any value. */
static int64_t whole(double v)
{
	return v < 0x1p62 ? (int64_t)v : INT64_C(1) << 62;
}

struct heap_amount heap_scale(uint64_t count, uint64_t size, uint64_t rate)
{
	double bytes = (double)count * (double)size;
	double scale;

	if (count == 0 || size == 0)
		return (struct heap_amount){0, 0};
	if (rate <= 1)
		return (struct heap_amount){whole((double)count), whole(bytes)};
	/* of average size, as the runtime computes it from its sums */
	scale = 1 / (1 - exp(-(bytes / (double)count) / (double)rate));
	return (struct heap_amount){whole((double)count * scale), whole(bytes * scale)};
}
