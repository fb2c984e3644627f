/* What the queries of timelines share, for timeline_*.c only. */
#ifndef CLUSTER_AGENT_QUERY_READ_TIMELINE_SQL_H
#define CLUSTER_AGENT_QUERY_READ_TIMELINE_SQL_H

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/timeline.h"
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
	"if({sum:UInt8}, v * (e - s) / (stop - s), v) AS x "                                \
	"FROM neighbours WHERE s < {to:Int64} AND e > {from:Int64}) "

/*
 * Windows are grouped, as those of hundreds of instances are many, and nothing is lost by it. The
 * values of those that lie within a step may be added up. What they cover together is all between
 * the first start and the last end if they begin in the same interval of g, and are at least as
 * long: then each of them has the end of that interval. g is a power of two for each.
 *
 * Those that cross the border of a step are grouped if both ends are in the same intervals of
 * {grid}. The ends are not rounded.
 */
#define SQL_POWER(length) "bitShiftLeft(toUInt64(1), toUInt8(floor(log2(greatest(" length ", 1)))))"
#define SQL_FROM_WINDOWS(carried)                                                  \
	" FROM (SELECT " carried "s, e, toFloat64(x) AS y, {grid:UInt64} > 1 AND " \
	"s >= {origin:UInt64} AND intDiv(s - {origin:UInt64}, {step:UInt64}) = "   \
	"intDiv(e - 1 - {origin:UInt64}, {step:UInt64}) AS within, "               \
	"if(within, " SQL_POWER("e - s") ", {grid:UInt64}) AS g FROM windows) "    \
					 "GROUP BY " carried                       \
					 "within, g, intDiv(s, g), if(within, 0, intDiv(e, g))"

/* One window of a group, with what has the same integral over time, as a sum or a level. */
#define SQL_MERGED                                           \
	"min(s) AS a, max(e) AS b, if({sum:UInt8}, sum(y), " \
	"sum(y * greatest(e - s, 1)) / greatest(b - a, 1))"

/* A second on long ranges, and more if there are thousands of steps; else they must be equal. */
static inline uint64_t timeline_grid_ns(int64_t range_ns, const struct timeline *t)
{
	const uint64_t of_steps = UINT64_C(3000000) * t->n_steps;

	return range_ns <= EXACT_RANGE_NS ? 1 : of_steps > NS_PER_S ? of_steps : NS_PER_S;
}

static inline void timeline_bind_grid(struct bound_query *q, int64_t range_ns,
				      const struct timeline *t)
{
	bound_query_add_uint(q, "grid", timeline_grid_ns(range_ns, t));
	bound_query_add_uint(q, "origin", t->from_ns > 0 ? (uint64_t)t->from_ns : 0);
	bound_query_add_uint(q, "step", (uint64_t)t->step_ns);
}

#endif /* CLUSTER_AGENT_QUERY_READ_TIMELINE_SQL_H */
