/*
 * What a sampled count stands for: scaleHeapSample of runtime/pprof/protomem.go, whose rounding is
 * the same. Pure.
 */
#ifndef NODE_AGENT_GO_HEAP_HEAP_SCALE_H
#define NODE_AGENT_GO_HEAP_HEAP_SCALE_H

#include "common/base.h"

struct heap_amount {
	int64_t objects;
	int64_t bytes;
};

/* count objects of size bytes; rate: bytes per sample, at most 1 when each object is sampled. */
struct heap_amount heap_scale(uint64_t count, uint64_t size, uint64_t rate);

#endif /* NODE_AGENT_GO_HEAP_HEAP_SCALE_H */
