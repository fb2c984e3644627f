/*
 * The runtime samples allocated bytes as a Poisson process with one sample per `rate` bytes
 * on average. An object of s bytes is therefore sampled with probability 1 - exp(-s/rate),
 * and each sampled one stands for 1 / (1 - exp(-s/rate)) objects. Small objects are scaled a
 * lot, those of many times the rate hardly at all.
 */
#include "node-agent/go/heap/heap_scale.h"

#include <math.h>

/* Saturates: counters of a broken process can have any value. */
static int64_t to_int64(double v)
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
		return (struct heap_amount){to_int64((double)count), to_int64(bytes)};
	/* bytes / count instead of size: the runtime has only sums, and rounding must agree */
	scale = 1 / (1 - exp(-(bytes / (double)count) / (double)rate));
	return (struct heap_amount){to_int64((double)count * scale), to_int64(bytes * scale)};
}
