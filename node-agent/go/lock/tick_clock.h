/*
 * The length of the ticks in which the Go programs of this machine measure waits (cputicks()
 * in runtime/). On amd64 that is the time stamp counter, which all processes share. On arm64
 * cputicks() returns nanoseconds. For one thread.
 */
#ifndef NODE_AGENT_GO_LOCK_TICK_CLOCK_H
#define NODE_AGENT_GO_LOCK_TICK_CLOCK_H

#include "common/base.h"

struct tick_clock {
	uint64_t first_ticks;
	uint64_t first_ns;
	uint64_t asleep_ns; /* time since boot that the machine had been suspended when we began */
	double ns_per_tick; /* 0 if not measured yet */
};

/* Starts the measurement. */
void tick_clock_init(struct tick_clock *c);

/*
 * For programs of this machine type (EM_X86_64, EM_AARCH64). Returns 0 if the length is
 * unknown. May sleep until a few milliseconds have passed since tick_clock_init().
 */
double tick_clock_ns_per_tick(struct tick_clock *c, uint16_t machine);

#endif /* NODE_AGENT_GO_LOCK_TICK_CLOCK_H */
