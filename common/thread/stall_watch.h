/*
 * Whether a thread stands still: it is at work and uses no CPU time. Seen from outside, by looking at it now and then.
 *
 * What counts is time during which somebody looked: a machine that was suspended, or so busy that the watch itself did not run, says
 * nothing about the thread. Pure.
 */
#ifndef COMMON_THREAD_STALL_WATCH_H
#define COMMON_THREAD_STALL_WATCH_H

#include "common/base.h"

struct stall_watch {
	uint64_t period_ns; /* between looks; one counts for no more than that */
	uint64_t looked_ns;
	uint64_t cpu_ns;
	uint64_t still_ns;
};

void stall_watch_init(struct stall_watch *w, uint64_t period_ns, uint64_t now_ns);

/* For how long it has stood still by now; 0: it is idle, or has got on since the last look. */
uint64_t stall_watch_look(struct stall_watch *w, uint64_t now_ns, uint64_t cpu_ns, bool is_busy);

#endif /* COMMON_THREAD_STALL_WATCH_H */
