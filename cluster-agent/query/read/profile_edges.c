/*
 * A profile that overlaps a range counts whole, as it does not say when something happened in it.
 * One that contains the border of two ranges counts on both sides. Where usage changes at its end,
 * a minute of before is then compared with minutes of after: functions that did not change seem to
 * have. So the borders of a comparison are moved to ends of profiles.
 *
 * Instances on several nodes have profiles that begin at different times. The border is moved to
 * an end of the profile with the largest value; others are cut as before, on both sides alike.
 *
 * A range that ends at present ends where the newest profile of each node is there: else functions
 * that run on the other nodes seem to have shrunk.
 */
#include "cluster-agent/query/read/profile_edges.h"

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/timeline_tail.h"

#define MAX_ANSWER_BYTES ((size_t)1 << 10)

/* The profile that contains the instant at which the filter's range begins and ends. */
#define SQL_PROFILE                                                                         \
	" AS at, toUnixTimestamp64Nano(Start), toUnixTimestamp64Nano(End) FROM ${samples} " \
	"WHERE ${which} GROUP BY Start, End ORDER BY sum(Value) DESC, Start, End LIMIT 1)"

static int64_t nearer(int64_t at, int64_t start, int64_t end)
{
	return at - start < end - at ? start : end;
}

static int read_edges(const struct bound_query *q, int64_t at[2], struct err *err)
{
	struct rowbinary_reader r;

	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r)) {
		unsigned i = rowbinary_get_u8(&r) != 0;
		int64_t start = rowbinary_get_i64(&r), end = rowbinary_get_i64(&r);

		at[i] = nearer(at[i], start, end);
	}
	return bound_query_check(&r, err);
}

static int snap(struct store *store, struct query_filter *f, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q = {0};
	struct query_filter from = *f, to = *f;
	int64_t at[2] = {f->from_ns, f->to_ns};
	int r;

	from.to_ns = from.from_ns;
	to.from_ns = to.to_ns;
	bound_query_init(&q, store, &from, MAX_ANSWER_BYTES);
	bound_query_addf(&q, "SELECT * FROM (SELECT toUInt8(0)");
	bound_query_add_sql(&q, &from, SQL_PROFILE);
	bound_query_addf(&q, " UNION ALL SELECT * FROM (SELECT toUInt8(1)");
	bound_query_use_side(&q, true);
	bound_query_bind(&q, &to);
	bound_query_add_sql(&q, &to, SQL_PROFILE);
	bound_query_use_side(&q, false);
	r = bound_query_run(&q, err);
	if (r == 0)
		r = read_edges(&q, at, err);
	if (r == 0 && at[0] < at[1]) {
		f->from_ns = at[0];
		f->to_ns = at[1];
	}
	return r;
}

int profile_edges_snap(struct store *store, struct query_filter *f, struct err *err)
{
	struct query_filter moved = *f;
	int64_t complete_ns = 0;
	int r;

	if (f->to_ns - f->from_ns > PROFILE_EDGES_LONGEST_NS)
		return 0;
	r = timeline_query_complete(store, f, &complete_ns, err);
	if (r == 0 && profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM)
		r = snap(store, &moved, err);
	if (r < 0)
		return r;
	if (complete_ns > moved.from_ns && complete_ns < moved.to_ns)
		moved.to_ns = complete_ns;
	f->from_ns = moved.from_ns;
	f->to_ns = moved.to_ns;
	return 0;
}
