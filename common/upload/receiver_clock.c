#include "common/upload/receiver_clock.h"

#include "common/system/clock.h"

#define STEP_NS ((int64_t)NS_PER_S)
#define MAX_DATE_S (INT64_C(9000000000)) /* in nanoseconds below INT64_MAX */

static int64_t middle(int64_t low, int64_t high)
{
	return low + (high - low) / 2;
}

void receiver_clock_note(struct receiver_clock *c, int64_t date_s, uint64_t sent_ns,
			 uint64_t received_ns, int64_t own_ns)
{
	int64_t low, high;

	if (date_s < 0 || date_s > MAX_DATE_S || sent_ns > received_ns)
		return;
	low = date_s * (int64_t)NS_PER_S - (int64_t)received_ns;
	high = (date_s + 1) * (int64_t)NS_PER_S - (int64_t)sent_ns;
	if (c->is_known && low <= c->high_ns && high >= c->low_ns) {
		low = low > c->low_ns ? low : c->low_ns;
		high = high < c->high_ns ? high : c->high_ns;
	}
	*c = (struct receiver_clock){true, low, high, own_ns};
}

bool receiver_clock_is_usable(const struct receiver_clock *c, int64_t own_ns)
{
	return c->is_known && llabs(own_ns - c->own_ns) < STEP_NS;
}

int64_t receiver_clock_correction(const struct receiver_clock *c, int64_t own_ns)
{
	if (!c->is_known)
		return 0;
	if (c->low_ns - own_ns > RECEIVER_CLOCK_MIN_SKEW_NS ||
	    own_ns - c->high_ns > RECEIVER_CLOCK_MIN_SKEW_NS)
		return middle(c->low_ns, c->high_ns) - own_ns;
	return 0;
}

int64_t receiver_clock_now(const struct receiver_clock *c, uint64_t since_boot_ns)
{
	return middle(c->low_ns, c->high_ns) + (int64_t)since_boot_ns;
}
