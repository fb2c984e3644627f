#include "cluster-agent/ingest/profile_window.h"

/* How far the end is from now, if that is not credible. */
static int64_t find_skew(int64_t end_ns, int64_t now_ns, int64_t max_age_ns)
{
	int64_t skew_ns;

	if (__builtin_sub_overflow(end_ns, now_ns, &skew_ns))
		return end_ns < now_ns ? INT64_MIN : INT64_MAX;
	if (end_ns < 0 || skew_ns > PROFILE_WINDOW_MAX_FUTURE_NS || skew_ns < -max_age_ns)
		return skew_ns;
	return 0;
}

void profile_window_set(struct profile_window *ret, int64_t end_ns, int64_t duration_ns,
			int64_t now_ns, int64_t max_age_ns)
{
	int64_t skew_ns = end_ns == 0 ? 0 : find_skew(end_ns, now_ns, max_age_ns);

	if (end_ns == 0 || skew_ns != 0)
		end_ns = now_ns;
	*ret = (struct profile_window){
		.end_ns = end_ns,
		.bad_duration = duration_ns < 0 || duration_ns > max_age_ns || duration_ns > end_ns,
		.skew_ns = skew_ns,
	};
	ret->start_ns = ret->bad_duration ? end_ns : end_ns - duration_ns;
}
