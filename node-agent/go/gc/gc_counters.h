/*
 * What Go's memory manager counts, from the bytes of its variables. Pure.
 *
 * Both variables are written while they are read, so each value is of its own moment; what several words say together is
 * checked. Allocations of small objects become visible when a processor is done with a span, as in runtime/metrics, so
 * they are late by some spans per processor. Before 1.19 a span counts as allocated as soon as a processor
 * takes it, so that numbers fall a little when it gives some of it back.
 */
#ifndef NODE_AGENT_GO_GC_GC_COUNTERS_H
#define NODE_AGENT_GO_GC_GC_COUNTERS_H

#include "common/base.h"
#include "node-agent/go/gc/gc_layout.h"

enum gc_counter {
	/* since the process began */
	GC_ALLOC_BYTES, /* since 1.16 */
	GC_ALLOC_OBJECTS,
	GC_CYCLES,   /* completed collections */
	GC_PAUSE_NS, /* in which a collection had stopped the program */
	/* now */
	GC_LIVE_BYTES, /* that the last collection found in use; not known before the first */
	GC_HEAP_BYTES, /* these, and what was allocated since: what is held against the goal */
	GC_GOAL_BYTES, /* the heap at which a collection shall end; not known when there is no goal */
	GC_COUNTERS,
};

struct gc_counters {
	uint32_t known; /* a bit per enum gc_counter */
	uint64_t v[GC_COUNTERS];
};

static inline bool gc_counters_have(const struct gc_counters *c, enum gc_counter which)
{
	return c->known >> which & 1;
}

/* What a release can tell: a bit per enum gc_counter. */
uint32_t gc_counters_of(const struct gc_layout *l);

/*
 * Adds what runtime.memstats tells, of which memory holds l->memstats.n_bytes. again has, at the same offsets, the deltas
 * (gc_layout_deltas_bytes()) as they were read after that; if there are none, nothing.
 * -EBADMSG: that is another variable; -EAGAIN: it may be another, or was read while it changed.
 */
int gc_counters_add_memstats(struct gc_counters *c, const struct gc_layout *l,
			     const uint8_t *memory, const uint8_t *again) MUST_CHECK;

/* Adds what the pacer tells, after the above. Memory holds l->pacer.n_bytes. Results as above. */
int gc_counters_add_pacer(struct gc_counters *c, const struct gc_layout *l,
			  const uint8_t *memory) MUST_CHECK;

#endif /* NODE_AGENT_GO_GC_GC_COUNTERS_H */
