/*
 * How async-profiler is used, and why this way. Figures: 4.6 with JDK 17 on a loaded machine of
 * four cores; a program with two busy threads, 1 GB/s of allocations, and contended locks.
 *
 * One recording for several intervals. `dump` completes the current chunk of the recording and
 * begins the next one in the same file, at the very nanosecond where the last one ended; it takes
 * 1.8 ms (median of 1,000), during which about two samples are dropped. `stop` and `start` lose
 * what happens in the 2.6 ms in between, in particular every wait for a lock that is under
 * way. So an interval ends with `dump`, and with `stop` and `start` only when the recording has
 * reached its age (java_plan.h). That bounds the file and async-profiler's table of stacks, which
 * `start` empties: 1,000 dumps left the memory of the JVM where it was. The first `start` in a
 * JVM reads the symbols of its libraries and takes 60 to 130 ms, in a thread of its own.
 *
 * timeout=  Nothing but async-profiler itself can end a recording whose agent was killed and never
 *           comes back. It cannot be prolonged, hence the age above.
 * event=ctimer  A timer per thread on its CPU clock. `cpu` would use perf_events, which containers
 *           are denied, and a file descriptor per thread; `itimer` has one clock for all threads
 *           and signals whichever runs, which is not proportional to their CPU time. It is used
 *           if no timer can be made: where /proc is another PID namespace's, threads have other
 *           numbers there, and the timers of a user's threads count against RLIMIT_SIGPENDING.
 * cstack    Not set: the default, "vm", walks native and Java frames by HotSpot's own description
 *           of its structures on JDK 8 to 25, where AsyncGetCallTrace can crash a JVM.
 * alloc=    JDK 11 and later: bytes between two samples of an allocating thread. JDK 8: of new
 *           allocation buffers.
 * lock=     Not a threshold but an interval of waiting time: a wait is recorded with a probability
 *           of its length divided by the interval, at most 1, and jfr_stacks.h weights it by the
 *           inverse. So the cost is bounded, and short waits count in proportion. Waits for
 *           monitors and for ReentrantLock, ReentrantReadWriteLock and Semaphore are recorded,
 *           not idle threads of a pool.
 * jstackdepth=  Frames beyond it, next to the root, are missing, and the recording does not say
 *           so: java_stacks.c concludes it from the number of frames. Walking a stack takes time
 *           in proportion to its depth, in a signal handler.
 * jfropts=31  Leaves out of the recording what is not about stacks. System properties may be
 *           secrets.
 * memlimit=  Of the table of stacks. Samples beyond it have no stack.
 * loglevel=none,quiet  async-profiler writes to the standard output and error of the JVM
 *           otherwise, even that there was nothing to stop. To learn why a start fails, it is
 *           repeated with a log file.
 */
#include "node-agent/java/profile/java_commands.h"

#include <errno.h>
#include <inttypes.h>

#include "common/data/buf.h"

static const struct {
	const char *text; /* part of an error of async-profiler 4 */
	unsigned refused;
} errors[] = {
	{"AllocTracer", JAVA_REFUSED_ALLOC},
	{"allocation breakpoints", JAVA_REFUSED_ALLOC},
	{"ObjectAlloc", JAVA_REFUSED_ALLOC},
	{"CPU timer", JAVA_REFUSED_TIMERS},
	{"pthread_setspecific hook", JAVA_REFUSED_TIMERS},
};

unsigned java_command_refused(const char *error)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		if (strstr(error, errors[i].text))
			return errors[i].refused;
	}
	return 0;
}

#define FIXED "jfropts=31,memlimit=64m,quiet"

static int add_interval(struct buf *b, const char *name, uint64_t interval, const char *unit)
{
	return interval > 0 ? buf_addf(b, ",%s=%" PRIu64 "%s", name, interval, unit) : 0;
}

static int add_options(struct buf *b, const struct java_start *s)
{
	int r = buf_addf(b, "start,jfr,event=%s,interval=%" PRIu64 "ns",
			 s->timer == JAVA_CPU_TIMER_THREAD ? "ctimer" : "itimer",
			 s->settings.cpu_interval_ns);

	if (r < 0)
		return r;
	r = add_interval(b, "alloc", s->settings.alloc_interval_bytes, "");
	if (r < 0)
		return r;
	r = add_interval(b, "lock", s->settings.lock_interval_ns, "ns");
	if (r < 0)
		return r;
	r = add_interval(b, "wall", s->settings.wall_interval_ns, "ns");
	if (r < 0)
		return r;
	r = buf_addf(b, ",jstackdepth=%u," FIXED ",timeout=%u", JAVA_STACK_DEPTH, s->life_s);
	if (r < 0)
		return r;
	r = s->log_file ? buf_addf(b, ",loglevel=error,log=%s/%s", s->dir, s->log_file)
			: buf_addf(b, ",loglevel=none");
	if (r < 0)
		return r;
	return buf_addf(b, ",file=%s/%s", s->dir, s->file);
}

/* A comma would end the option, and a percent sign begins a pattern. */
int java_command_start(const struct java_start *start, char ret[JAVA_COMMAND_BYTES])
{
	CLEANUP(buf_fini) struct buf b;
	int r;

	buf_init(&b, JAVA_COMMAND_BYTES - 1);
	if (strpbrk(start->dir, ",%"))
		return -EINVAL;
	r = add_options(&b, start);
	if (r < 0)
		return r == -EFBIG ? -E2BIG : r;
	memcpy(ret, b.data, b.len + 1);
	return 0;
}
