/*
 * A preloaded library that steps the wall clock of one process.
 *
 * The file that CLOCK_STEP names holds nanoseconds, as an int64_t, that are added to
 * CLOCK_REALTIME; a test may write it at any time. Monotonic clocks are left alone, as a step of
 * the kernel's clock leaves them alone. A time namespace does the opposite.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

static const volatile int64_t *step_ns;
static int (*real_clock_gettime)(clockid_t id, struct timespec *ts);

__attribute__((constructor)) static void map_step(void)
{
	const char *path = getenv("CLOCK_STEP");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *p = fd >= 0 ? mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (fd >= 0)
		close(fd);
	if (p != MAP_FAILED)
		step_ns = p;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t ns;
	int r;

	if (!real_clock_gettime)
		*(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	r = real_clock_gettime(id, ts);
	if (r != 0 || !step_ns || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
		return r;
	ns = (int64_t)ts->tv_sec * NS_PER_S + ts->tv_nsec + *step_ns;
	ts->tv_sec = (time_t)(ns / NS_PER_S);
	ts->tv_nsec = (long)(ns % NS_PER_S);
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (ret)
		*ret = ts.tv_sec;
	return ts.tv_sec;
}

int gettimeofday(struct timeval *tv, void *zone)
{
	struct timespec ts;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}
