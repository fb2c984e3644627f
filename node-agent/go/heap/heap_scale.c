/*
 * The runtime samples allocated bytes as a Poisson process with one sample per `rate` bytes
 * on average. An object of s bytes is therefore sampled with probability 1 - exp(-s/rate),
 * and each sampled one stands for 1 / (1 - exp(-s/rate)) objects. Small objects are scaled a
 * lot, those of many times the rate hardly at all.
 *
 * Results are whole numbers. Scaling what one interval has counted would lose a fraction of an
 * object per record and interval: a third of all objects, if each interval has one that stands for
 * 1.5. So the counters are scaled and then subtracted, which loses nothing over time and needs
 * no memory for remainders.
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

struct heap_amount heap_scale_growth(struct heap_growth count, uint64_t size, uint64_t rate)
{
	struct heap_amount from, to;

	if (count.now <= count.before)
		return (struct heap_amount){0, 0};
	from = heap_scale(count.before, size, rate);
	to = heap_scale(count.now, size, rate);
	/* so large that they are no longer exact, both may be rounded to a lower number */
	return (struct heap_amount){to.objects > from.objects ? to.objects - from.objects : 0,
				    to.bytes > from.bytes ? to.bytes - from.bytes : 0};
}
