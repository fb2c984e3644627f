#include "node-agent/go/lock/lock_counts.h"

#include <errno.h>

#define MINOR_WITH_FLOATS 17u
#define MINOR_WITH_SCALED_MUTEXES 20u
#define MAX_WAITS (UINT64_C(1) << 53) /* a double represents all integers up to this exactly */

int lock_counts_decode(const struct go_bucket *b, unsigned minor, struct lock_counts *ret)
{
	uint64_t waits = b->words[0], ticks = b->words[1];

	if (minor >= MINOR_WITH_FLOATS) {
		double d;

		memcpy(&d, &b->words[0], sizeof(d));
		/* written so that NaN fails too */
		if (!(d >= 0 && d <= (double)MAX_WAITS))
			return -EAGAIN;
		waits = (uint64_t)d; /* truncated, as MutexProfile and BlockProfile do */
	}
	if (waits > MAX_WAITS || ticks > INT64_MAX)
		return -EAGAIN;
	*ret = (struct lock_counts){waits, ticks};
	return 0;
}

uint64_t lock_counts_factor(enum lock_kind kind, unsigned minor, uint64_t rate)
{
	/* an implausible rate is not used */
	bool missing = kind == LOCK_MUTEX && minor < MINOR_WITH_SCALED_MUTEXES && rate > 1 &&
		       rate <= INT32_MAX;

	return missing ? rate : 1;
}
