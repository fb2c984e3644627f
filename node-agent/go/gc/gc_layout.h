/*
 * Where the counters of Go's memory manager are: offsets within runtime.memstats and runtime.gcController, which differ by
 * release and not by architecture (1.13 to 1.27; mstats.go and mgcpacer.go). Pure.
 */
#ifndef NODE_AGENT_GO_GC_GC_LAYOUT_H
#define NODE_AGENT_GO_GC_GC_LAYOUT_H

#include "common/base.h"

#define GC_MINOR_MIN 13u
#define GC_MINOR_MAX 27u
#define GC_SIZE_CLASSES 68u
#define GC_DELTAS 3u
#define GC_NONE UINT16_MAX /* of an offset: the release has no such thing */
#define GC_MEMSTATS_MAX_BYTES 9532u
#define GC_PACER_MAX_BYTES 6024u

/*
 * Of runtime.memstats. Behind numgc there is something whose size depends on the collector that was chosen with
 * GOEXPERIMENT, since 1.25.
 */
struct gc_memstats_layout {
	uint16_t n_bytes;      /* up to the end of the last field below */
	uint16_t buckhash_sys; /* mcache_sys is in front of it */
	uint16_t last_gc_unix;
	uint16_t pause_total;
	uint16_t pause_end; /* of 256 cycles, in a ring */
	uint16_t numgc;     /* 32 bits */
	uint16_t by_size;   /* of each size class: its size, and what does not matter */
	uint16_t tinyallocs;
	uint16_t deltas; /* three of them, then a word that says which one is written to */
};

/* Of one of these (heapStatsDelta). */
struct gc_delta_layout {
	uint16_t n_bytes;
	uint16_t tiny;        /* objects */
	uint16_t large_bytes; /* then their number, then one number per size class */
};

/* Of the pacer: runtime.gcController, before 1.17 runtime.memstats. */
struct gc_pacer_layout {
	uint16_t n_bytes;
	uint16_t minimum; /* heapMinimum: what the percentage gives, GC_NONE before 1.17 */
	uint16_t goal; /* of the percentage alone since 1.19, which is followed by what moves it */
	uint16_t live;
	uint16_t marked;
	uint16_t limit; /* memoryLimit */
	uint16_t
		in_use; /* heapInUse, and behind it heapReleased, heapFree, totalAlloc, totalFree, mappedReady */
};

struct gc_layout {
	unsigned minor;
	struct gc_memstats_layout memstats;
	struct gc_delta_layout delta;
	struct gc_pacer_layout pacer;
};

/* The three deltas, and the word behind them. */
static inline size_t gc_layout_deltas_bytes(const struct gc_layout *l)
{
	return (size_t)GC_DELTAS * l->delta.n_bytes + sizeof(uint32_t);
}

/* -ENOTSUP: a release that is not known. */
int gc_layout_get(unsigned minor, struct gc_layout *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GC_GC_LAYOUT_H */
