#include "common/system/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t id)
{
	struct timespec ts;

	/* cannot fail: every Linux has these clocks */
	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_boottime_ns(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

uint64_t clock_thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_effort_ns(void)
{
	return (3 * clock_thread_cpu_ns() + clock_monotonic_ns()) / 4;
}

uint64_t clock_realtime_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}
