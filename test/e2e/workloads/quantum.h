/* What programs that spend known amounts of CPU time have in common. */
#ifndef E2E_WORKLOADS_QUANTUM_H
#define E2E_WORKLOADS_QUANTUM_H

#include <stdint.h>
#include <time.h>

/*
 * A quantum is so long that reading the clock (a system call) does not show. Its length is random:
 * equal ones would alternate at a fixed rate, with which a sampler of a fixed rate can synchronize.
 */
enum { QUANTUM_MIN = 500000, QUANTUM_MASK = 0x3fffff };

static int next_quantum(void)
{
	static uint64_t state = 88172645463325252u;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return QUANTUM_MIN + (int)(state >> 33 & QUANTUM_MASK);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif /* E2E_WORKLOADS_QUANTUM_H */
