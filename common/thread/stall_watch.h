/*
 * Detects that a thread has stalled: it is at work and uses no CPU time. Another thread polls
 * its CPU clock. Pure.
 *
 * Only time between two polls counts, and no more than one period of it per poll: after a
 * suspend, or while the machine is so busy that the polling thread does not run either, the
 * time that passed says nothing about the watched thread.
 */
#ifndef COMMON_THREAD_STALL_WATCH_H
#define COMMON_THREAD_STALL_WATCH_H

#include "common/base.h"

struct stall_watch {
	uint64_t period_ns; /* between two polls */
	uint64_t polled_ns; /* time of the last poll */
	uint64_t cpu_ns;    /* CPU time at the last poll */
	uint64_t stalled_ns;
};

void stall_watch_init(struct stall_watch *w, uint64_t period_ns, uint64_t now_ns);

/*
 * Returns for how long the thread has stalled; 0 if it is idle or has used CPU since the last
 * poll.
 */
uint64_t stall_watch_poll(struct stall_watch *w, uint64_t now_ns, uint64_t cpu_ns, bool is_busy);

#endif /* COMMON_THREAD_STALL_WATCH_H */
