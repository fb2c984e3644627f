/*
 * Offsets of the counters in runtime.memstats and runtime.gcController. They depend on the
 * release (1.13 to 1.27; runtime/mstats.go and mgcpacer.go), not on the architecture. Pure.
 */
#ifndef NODE_AGENT_GO_GC_GC_LAYOUT_H
#define NODE_AGENT_GO_GC_GC_LAYOUT_H

#include "common/base.h"

#define GC_MINOR_MIN 13u
#define GC_MINOR_MAX 27u
#define GC_SIZE_CLASSES 68u
#define GC_DELTAS 3u
#define GC_NONE UINT16_MAX /* an offset of a field that the release does not have */
#define GC_MEMSTATS_MAX_BYTES 9532u
#define GC_PACER_MAX_BYTES 6024u

/*
 * runtime.memstats. Nothing after numgc is read since 1.25: the size of what follows it
 * depends on the collector chosen with GOEXPERIMENT.
 */
struct gc_memstats_layout {
	uint16_t n_bytes;      /* up to the end of the last field below */
	uint16_t buckhash_sys; /* follows mcache_sys */
	uint16_t last_gc_unix;
	uint16_t pause_total;
	uint16_t pause_end; /* a ring of the last 256 cycles */
	uint16_t numgc;     /* 32 bits */
	uint16_t by_size;   /* an array: the object size of each size class, and unused fields */
	uint16_t tinyallocs;
	uint16_t deltas; /* three gc_delta_layout, then the index of the one that is written to */
};

/* heapStatsDelta. */
struct gc_delta_layout {
	uint16_t n_bytes;
	uint16_t tiny;        /* number of tiny objects */
	uint16_t large_bytes; /* followed by the number of large objects, and one per size class */
};

/* The pacer: runtime.gcController, before 1.17 a part of runtime.memstats. */
struct gc_pacer_layout {
	uint16_t n_bytes;
	uint16_t minimum; /* heapMinimum; GC_NONE before 1.17 */
	uint16_t goal;    /* since 1.19 that of GOGC alone, followed by what adjusts it */
	uint16_t live;
	uint16_t marked;
	uint16_t limit;  /* memoryLimit */
	uint16_t in_use; /* heapInUse, heapReleased, heapFree, totalAlloc, totalFree, mappedReady */
};

struct gc_layout {
	unsigned minor;
	struct gc_memstats_layout memstats;
	struct gc_delta_layout delta;
	struct gc_pacer_layout pacer;
};

/* Bytes of the three deltas and the index behind them. */
static inline size_t gc_layout_deltas_bytes(const struct gc_layout *l)
{
	return (size_t)GC_DELTAS * l->delta.n_bytes + sizeof(uint32_t);
}

/* Returns 0, or -ENOTSUP if the release is unknown. */
int gc_layout_get(unsigned minor, struct gc_layout *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GC_GC_LAYOUT_H */
