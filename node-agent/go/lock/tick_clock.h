/*
 * How long a tick of the clock is by which the Go programs of this machine measure waits
 * (cputicks in runtime/).
 *
 * On amd64 that is the time stamp counter, which all processes share; its frequency is measured against
 * CLOCK_MONOTONIC_RAW from the first use on, ever more exactly, and anew after the machine was suspended: one of both may
 * have gone on. On arm64 it is CLOCK_MONOTONIC in
 * nanoseconds. One thread.
 */
#ifndef NODE_AGENT_GO_LOCK_TICK_CLOCK_H
#define NODE_AGENT_GO_LOCK_TICK_CLOCK_H

#include "common/base.h"

struct tick_clock {
	uint64_t first_ticks;
	uint64_t first_ns;
	uint64_t asleep_ns; /* for which the machine had been suspended then */
	double ns_per_tick; /* 0: not measured yet */
};

/* Begins to measure. */
void tick_clock_init(struct tick_clock *c);

/*
 * Of processes of this machine (EM_X86_64, EM_AARCH64); 0: not known here. Waits until some milliseconds
 * have passed since tick_clock_init().
 */
double tick_clock_ns_per_tick(struct tick_clock *c, uint16_t machine);

#endif /* NODE_AGENT_GO_LOCK_TICK_CLOCK_H */
