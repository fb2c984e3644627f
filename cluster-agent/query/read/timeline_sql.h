/* What the queries of timelines share, for timeline_query.c and timeline_groups.c only. */
#ifndef CLUSTER_AGENT_QUERY_READ_TIMELINE_SQL_H
#define CLUSTER_AGENT_QUERY_READ_TIMELINE_SQL_H

#include "common/base.h"
#include "common/system/clock.h"

/* windows are merged if the range is longer than this */
#define EXACT_RANGE_NS (INT64_C(6) * 3600 * (int64_t)NS_PER_S)

/*
 * Windows of held profiles: each lasts until the next one of its instance begins, and the last one
 * as far beyond its end as its start was after the end of the previous one. Gaps of more than
 * {hold} stay gaps. A profile without a length gets one as in timeline.h. carried names columns of
 * "own" that the windows have as well, each with a comma.
 */
#define SQL_HELD(carried)                                                                   \
	"neighbours AS (SELECT " carried "s, stop, v, "                                     \
	"leadInFrame(s, 1, stop) OVER later - stop AS gap_after, "                          \
	"s - lagInFrame(stop, 1, s) OVER earlier AS gap_before, "                           \
	"leadInFrame(1, 1, 0) OVER later AS has_next FROM own WINDOW "                      \
	"later AS (PARTITION BY key ORDER BY s ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING), " \
	"earlier AS (PARTITION BY key ORDER BY s "                                          \
	"ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)), "                                      \
	"windows AS (SELECT " carried "s, if(has_next = 1, gap_after, gap_before) AS gap, " \
	"stop + if(gap BETWEEN 0 AND toInt64({hold:UInt64}), gap, 0) AS e, "                \
	"toInt64(round(least(if({sum:UInt8}, v * (e - s) / (stop - s), v), 9e18))) AS x "   \
	"FROM neighbours WHERE s < {to:Int64} AND e > {from:Int64}) "

/*
 * One window of those that are grouped: what they span, and what has the same integral over time as
 * all of them, a sum or a level.
 */
#define SQL_MERGED                                                               \
	"min(s) AS a, max(e) AS b, if({sum:UInt8}, sum(x), toInt64(round(least(" \
	"sum(toFloat64(x) * greatest(e - s, 1)) / greatest(b - a, 1), 9e18))))"

/*
 * On long ranges windows are merged in cells of a 16th of a step at most. The windows of hundreds
 * of hosts then coincide, the answer stays small, and the error is below a pixel.
 */
static inline int64_t timeline_grid_ns(int64_t range_ns, int64_t step_ns)
{
	if (range_ns <= EXACT_RANGE_NS)
		return 1;
	return step_ns / 16 < range_ns / 5000 ? step_ns / 16 : range_ns / 5000;
}

#endif /* CLUSTER_AGENT_QUERY_READ_TIMELINE_SQL_H */
