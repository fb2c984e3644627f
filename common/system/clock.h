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

/* Since the Unix epoch: for what is stored and shown. */
uint64_t clock_realtime_ns(void);

#endif /* COMMON_SYSTEM_CLOCK_H */
