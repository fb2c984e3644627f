/*
 * Counters of Go's allocator and garbage collector, from the bytes of the runtime's
 * variables. Pure.
 *
 * The variables change while they are read, so every value is of a slightly different moment;
 * where several words must agree, that is checked. Allocations of small objects are counted
 * when a P is done with a span, as in runtime/metrics, so they lag by a few spans per P.
 * Before 1.19 a whole span counts as allocated as soon as a P takes it, and the counters fall
 * a little when the P returns a part of it.
 */
#ifndef NODE_AGENT_GO_GC_GC_COUNTERS_H
#define NODE_AGENT_GO_GC_GC_COUNTERS_H

#include "common/base.h"
#include "node-agent/go/gc/gc_layout.h"

enum gc_counter {
	/* since the process started */
	GC_ALLOC_BYTES, /* since 1.16 */
	GC_ALLOC_OBJECTS,
	GC_CYCLES,   /* completed collections */
	GC_PAUSE_NS, /* time for which collections stopped the program */
	/* current values */
	GC_LIVE_BYTES, /* found in use by the last collection; unknown before the first */
	GC_HEAP_BYTES, /* GC_LIVE_BYTES plus what was allocated since; compared with the goal */
	GC_GOAL_BYTES, /* heap size at which the next collection should end; unknown if none */
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

/* The counters that a release has: a bit per enum gc_counter. */
uint32_t gc_counters_of(const struct gc_layout *l);

/*
 * Sets the counters found in runtime.memstats, whose first l->memstats.n_bytes are at
 * `memory`. `again` has at the same offsets the deltas (gc_layout_deltas_bytes()) as they
 * were read later; it is not used for releases without them. Returns 0, -EBADMSG if these
 * cannot be the bytes of that variable, or -EAGAIN if they cannot, or were read while they
 * changed.
 */
int gc_counters_add_memstats(struct gc_counters *c, const struct gc_layout *l,
			     const uint8_t *memory, const uint8_t *again) MUST_CHECK;

/*
 * Sets the counters found in the pacer, of which l->pacer.n_bytes are at `memory`. Call it
 * after gc_counters_add_memstats(). Returns the same.
 */
int gc_counters_add_pacer(struct gc_counters *c, const struct gc_layout *l,
			  const uint8_t *memory) MUST_CHECK;

#endif /* NODE_AGENT_GO_GC_GC_COUNTERS_H */
