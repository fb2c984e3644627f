/* Time as uint64_t nanoseconds. */
#ifndef COMMON_SYSTEM_CLOCK_H
#define COMMON_SYSTEM_CLOCK_H

#include "common/base.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

/* Never steps, and stands still while the machine is suspended: for intervals and deadlines. */
uint64_t clock_monotonic_ns(void);

/* The same with the time suspended: for how long others have not heard from us. */
uint64_t clock_boottime_ns(void);

/* CPU time of the calling thread: for the cost of work, however busy the machine is. */
uint64_t clock_thread_cpu_ns(void);

/*
 * For limits of work that must also end when it waits: three quarters CPU time of the calling
 * thread, one quarter the time that passes. A thread that has a processor to itself sees a second
 * in a second; one that gets little of a busy machine, or of its quota, has up to four times as
 * long. Comparable within one thread only.
 */
uint64_t clock_effort_ns(void);

/* Since the Unix epoch: for what is stored and shown. */
uint64_t clock_realtime_ns(void);

#endif /* COMMON_SYSTEM_CLOCK_H */
