/*
 * The frequency of the time stamp counter is not exported to user space, and CPUID does not
 * have it on all processors and hypervisors. So it is measured: ticks and CLOCK_MONOTONIC_RAW
 * (which NTP does not slew) are read together, once at the start and again at each use. The
 * longer the interval, the smaller the error; after a minute it is smaller than the drift of
 * the counter, and the result is kept. After a suspend the measurement starts over, as one of
 * the two clocks may have continued while the other stood still.
 */
#include "node-agent/go/lock/tick_clock.h"

#include <elf.h>
#include <time.h>

#include "common/system/clock.h"

#define TRIES 5
#define SHORTEST_NS (5 * NS_PER_MS) /* one reading is exact to some tens of nanoseconds */
#define LONGEST_NS (60 * NS_PER_S)  /* longer intervals would not make the result better */

static uint64_t raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

#ifdef __x86_64__

/* How long the machine has been suspended since boot. */
static uint64_t asleep_ns(void)
{
	uint64_t awake_ns = clock_monotonic_ns();

	return clock_boottime_ns() - awake_ns;
}

static uint64_t read_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/*
 * Reads both clocks at nearly the same moment: of several attempts, the one that took the
 * fewest ticks.
 */
static void read_both(uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = read_ticks(), now_ns = raw_ns(), between = read_ticks() - before;

		if (between >= best)
			continue;
		best = between;
		*ticks = before + between / 2;
		*ns = now_ns;
	}
}

static void begin(struct tick_clock *c)
{
	read_both(&c->first_ticks, &c->first_ns);
	c->asleep_ns = asleep_ns();
}

static double measure(struct tick_clock *c)
{
	uint64_t passed_ns, ticks = 0, ns = 0;

	if ((int64_t)(asleep_ns() - c->asleep_ns) > (int64_t)SHORTEST_NS)
		begin(c);
	passed_ns = raw_ns() - c->first_ns;
	if (c->ns_per_tick > 0 && passed_ns > LONGEST_NS)
		return c->ns_per_tick;
	if (passed_ns < SHORTEST_NS) {
		const struct timespec rest = {.tv_nsec = (long)(SHORTEST_NS - passed_ns)};

		(void)nanosleep(&rest, NULL);
	}
	read_both(&ticks, &ns);
	if (ticks > c->first_ticks && ns > c->first_ns)
		c->ns_per_tick = (double)(ns - c->first_ns) / (double)(ticks - c->first_ticks);
	return c->ns_per_tick;
}

#else

static void read_both(uint64_t *ticks, uint64_t *ns)
{
	*ticks = 0;
	*ns = raw_ns();
}

static void begin(struct tick_clock *c)
{
	read_both(&c->first_ticks, &c->first_ns);
}

static double measure(struct tick_clock *c)
{
	return c->ns_per_tick;
}

#endif

void tick_clock_init(struct tick_clock *c)
{
	c->ns_per_tick = 0;
	begin(c);
}

double tick_clock_ns_per_tick(struct tick_clock *c, uint16_t machine)
{
	if (machine == EM_AARCH64)
		return 1;
	return machine == EM_X86_64 ? measure(c) : 0;
}
