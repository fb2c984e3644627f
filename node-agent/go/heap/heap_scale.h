/*
 * Estimates the true number and size of allocations from a sampled count. The same formula and
 * rounding as scaleHeapSample in runtime/pprof/protomem.go. Pure.
 */
#ifndef NODE_AGENT_GO_HEAP_HEAP_SCALE_H
#define NODE_AGENT_GO_HEAP_HEAP_SCALE_H

#include "common/base.h"

struct heap_amount {
	int64_t objects;
	int64_t bytes;
};

/*
 * `count` sampled objects of `size` bytes each. `rate` is the mean number of bytes between two
 * samples; 0 and 1 mean that every object is sampled.
 */
struct heap_amount heap_scale(uint64_t count, uint64_t size, uint64_t rate);

/* A count as of two moments; it only grows. */
struct heap_growth {
	uint64_t before;
	uint64_t now;
};

/*
 * What a count has grown by, scaled: the difference of both counts as scaled by heap_scale(). The
 * growths of consecutive intervals add up to the growth of the whole time, without a remainder.
 */
struct heap_amount heap_scale_growth(struct heap_growth count, uint64_t size, uint64_t rate);

#endif /* NODE_AGENT_GO_HEAP_HEAP_SCALE_H */
