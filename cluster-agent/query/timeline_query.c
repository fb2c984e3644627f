/*
 * The engine turns profiles into windows (start, end, value); timeline.c spreads these over the
 * steps.
 *
 * Windows that are equal are added up by the engine, and on long ranges they are rounded to a
 * grid first, so that the answer has thousands of rows where there are millions of profiles.
 *
 * Profiles of the node-agent cover all of the time, and their windows are taken as they are:
 * SQL_PLAIN. Scraped profiles are samples of time; each is extended to the next one of its
 * instance, or "held", by window functions: SQL_OWN or SQL_OWN_OF_ONE, then SQL_HELD. When
 * a pod ends or several scrapes fail, the gap is longer than {hold} and stays a gap.
 *
 * The list of instances cannot afford window functions, as it has to read the labels of all
 * samples; it estimates the same from sums, by instance.
 */
#include "cluster-agent/query/timeline_query.h"

#include <errno.h>

#include "cluster-agent/store/rowbinary.h"
#include "common/system/clock.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
#define WINDOW_BYTES 24u /* Int64 start, end, value */

/* windows are rounded if the range is longer than this */
#define EXACT_RANGE_NS (INT64_C(6) * 3600 * (int64_t)NS_PER_S)

/* Windows (s, e) and their values (x), for profiles that leave no gaps. */
#define SQL_PLAIN                                                     \
	"WITH windows AS (SELECT toUnixTimestamp64Nano(Start) AS s, " \
	"toUnixTimestamp64Nano(End) AS e, Value AS x FROM ${samples} WHERE ${which}) "

/*
 * Profiles (s, stop, v) by instance (key). profiling_quality has one row per profile and is
 * read if it can be; but a filter by instance needs the labels of profiling_samples, which has
 * one per stack.
 */
#define SQL_OWN                                                                       \
	"WITH own AS (SELECT tuple(Host, Instance) AS key, "                          \
	"toUnixTimestamp64Nano(End) AS stop, toUnixTimestamp64Nano(Start) AS begin, " \
	"if(stop > begin, begin, stop - {least:UInt64}) AS s, toFloat64(Value) AS v " \
	"FROM ${quality} WHERE ${which_hold}), "
#define SQL_OWN_OF_ONE                                                                        \
	"WITH own AS (SELECT tuple(${host}, Labels['port'], Labels['container.id']) AS key, " \
	"toUnixTimestamp64Nano(End) AS stop, toUnixTimestamp64Nano(Start) AS begin, "         \
	"if(stop > begin, begin, stop - {least:UInt64}) AS s, "                               \
	"sum(toFloat64(Value)) AS v FROM ${samples} WHERE ${which_hold} "                     \
	"GROUP BY key, stop, begin), "

/*
 * Windows of held profiles: each lasts until the next one of its instance begins, and the last one
 * as far beyond its end as its start was after the end of the previous one. Gaps of more than
 * {hold} stay gaps. A profile without a length gets one as in timeline.h.
 */
#define SQL_HELD                                                                            \
	"neighbours AS (SELECT s, stop, v, "                                                \
	"leadInFrame(s, 1, stop) OVER later - stop AS gap_after, "                          \
	"s - lagInFrame(stop, 1, s) OVER earlier AS gap_before, "                           \
	"leadInFrame(1, 1, 0) OVER later AS has_next FROM own WINDOW "                      \
	"later AS (PARTITION BY key ORDER BY s ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING), " \
	"earlier AS (PARTITION BY key ORDER BY s "                                          \
	"ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)), "                                      \
	"windows AS (SELECT s, if(has_next = 1, gap_after, gap_before) AS gap, "            \
	"stop + if(gap BETWEEN 0 AND toInt64({hold:UInt64}), gap, 0) AS e, "                \
	"toInt64(round(least(if({sum:UInt8}, v * (e - s) / (stop - s), v), 9e18))) AS x "   \
	"FROM neighbours WHERE s < {to:Int64} AND e > {from:Int64}) "

#define SQL_TIMELINE                                                      \
	"SELECT intDiv(s, {grid:UInt64}) * toInt64({grid:UInt64}) AS a, " \
	"intDiv(e, {grid:UInt64}) * toInt64({grid:UInt64}) AS b, "        \
	"sum(x) FROM windows GROUP BY a, b"

/*
 * held is v as if the profiles had the windows above, estimated as in application_query.c: the n
 * profiles of an instance are taken to begin at equal distances.
 */
#define SQL_INSTANCES                                        \
	"WITH own AS (SELECT ${id} AS id, ${host} AS host, " \
	"sum(toFloat64(Value) * ${overlap_ns} / if({sum:UInt8}, ${window_ns}, 1)) AS v"
#define SQL_INSTANCES_PLAIN ", v AS held FROM ${samples} WHERE ${which} GROUP BY id, host) "
#define SQL_INSTANCES_HELD                                                                  \
	", uniq(Start) AS n, avg(${overlap_ns}) * n AS covered, "                           \
	"toFloat64(toUnixTimestamp64Nano(max(Start)) - toUnixTimestamp64Nano(min(Start))) " \
	"* n / greatest(n - 1, 1) AS reach, "                                               \
	"v * greatest(least(reach, covered + n * {hold:UInt64}, "                           \
	"toFloat64({to:Int64} - {from:Int64})) / covered, 1) AS held "                      \
	"FROM ${samples} WHERE ${which} GROUP BY id, host, Labels['port'], "                \
	"Labels['container.id']) "
#define SQL_INSTANCES_TOP                               \
	"SELECT id, host, sum(held) AS value FROM own " \
	"GROUP BY id, host ORDER BY value DESC, id, host LIMIT {max:UInt64}"

/*
 * On long ranges windows are rounded to a 16th of a step at most. The windows of hundreds of hosts
 * then coincide, the answer stays small, and the error is below a pixel.
 */
static int64_t grid_ns(int64_t range_ns, int64_t step_ns)
{
	if (range_ns <= EXACT_RANGE_NS)
		return 1;
	return step_ns / 16 < range_ns / 5000 ? step_ns / 16 : range_ns / 5000;
}

static int read_windows(struct bound_query *q, struct timeline_window **ret, size_t *ret_n,
			struct err *err)
{
	size_t max = q->answer.len / WINDOW_BYTES, n = 0;
	AUTO_FREE struct timeline_window *windows = calloc(max + 1, sizeof(*windows));
	struct rowbinary_reader r;
	int e;

	if (!windows)
		return -ENOMEM;
	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	/* a row that is cut off is one more than max: it ends in an error of the reader */
	while (rowbinary_has_more(&r) && n <= max) {
		windows[n].start_ns = rowbinary_get_i64(&r);
		windows[n].end_ns = rowbinary_get_i64(&r);
		windows[n].value = rowbinary_get_i64(&r);
		n++;
	}
	e = bound_query_check(&r, err);
	if (e < 0)
		return e;
	*ret = TAKE_PTR(windows);
	*ret_n = n;
	return 0;
}

/*
 * The node-agent's profiles cover all of the time. Their instances do not matter, and the
 * labels, which are most of the work, need not be read.
 */
static bool leaves_gaps(const struct query_filter *f)
{
	return !profile_type_get(f->type)->node_agent;
}

static int add_hold(struct bound_query *q, const struct query_filter *f)
{
	bool sum = profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM;
	int r = bound_query_add_uint(q, "sum", sum);

	return r == 0 ? bound_query_add_uint(q, "hold", TIMELINE_HOLD_NS) : r;
}

static int add_windows(struct bound_query *q, const struct query_filter *f, bool held)
{
	bool sum = profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM;
	bool one = f->instance && f->instance[0];
	int r;

	if (!held)
		return bound_query_add_sql(q, f, SQL_PLAIN);
	r = add_hold(q, f);
	if (r == 0)
		r = bound_query_add_uint(q, "least", sum ? NS_PER_S : 1);
	if (r == 0)
		r = bound_query_add_sql(q, f, one ? SQL_OWN_OF_ONE : SQL_OWN);
	return r == 0 ? bound_query_add_sql(q, f, SQL_HELD) : r;
}

static int query_timeline(struct store *store, const struct query_filter *f, struct timeline *t,
			  bool held, struct err *err)
{
	AUTO_FREE struct timeline_window *windows = NULL;
	CLEANUP(bound_query_fini) struct bound_query q;
	size_t n_windows = 0;
	int r = bound_query_init(&q, store, f, MAX_ANSWER_BYTES);

	if (r == 0)
		r = bound_query_add_uint(&q, "grid",
					 (uint64_t)grid_ns(f->to_ns - f->from_ns, t->step_ns));
	if (r == 0)
		r = add_windows(&q, f, held);
	if (r == 0)
		r = bound_query_add_sql(&q, f, SQL_TIMELINE);
	if (r == 0)
		r = bound_query_run(&q, err);
	if (r == 0)
		r = read_windows(&q, &windows, &n_windows, err);
	if (r < 0)
		return r;
	timeline_fill(t, windows, n_windows);
	return 0;
}

int timeline_query(struct store *store, const struct query_filter *f, struct timeline *t,
		   struct err *err)
{
	return query_timeline(store, f, t, leaves_gaps(f), err);
}

static int query_covered(struct store *store, const struct query_filter *f, bool held,
			 double *ret_ns, struct err *err)
{
	struct timeline_step step;
	struct timeline t = {
		.from_ns = f->from_ns,
		.step_ns = f->to_ns - f->from_ns,
		.n_steps = 1,
		.steps = &step,
	};
	int r = query_timeline(store, f, &t, held, err);

	if (r == 0)
		*ret_ns = step.covered_ns;
	return r;
}

int timeline_query_covered(struct store *store, const struct query_filter *f, double *ret_ns,
			   struct err *err)
{
	return query_covered(store, f, false, ret_ns, err);
}

static int read_instances(struct timeline_instances *is, double scale, struct err *err)
{
	struct rowbinary_reader r;

	is->items = calloc(TIMELINE_QUERY_MAX_INSTANCES, sizeof(*is->items));
	if (!is->items)
		return -ENOMEM;
	rowbinary_reader_init(&r, is->query.answer.data, is->query.answer.len);
	while (rowbinary_has_more(&r) && is->n_items < TIMELINE_QUERY_MAX_INSTANCES) {
		struct timeline_instance *i = &is->items[is->n_items++];
		const struct timeline_instance *first = &is->items[0];

		i->id = rowbinary_get_string(&r, &i->id_len);
		i->host = rowbinary_get_string(&r, &i->host_len);
		i->value = rowbinary_get_f64(&r) * scale;
		if (i->host_len != first->host_len ||
		    memcmp(i->host, first->host, i->host_len) != 0)
			is->has_hosts = true;
	}
	return bound_query_check(&r, err);
}

static int add_instances(struct bound_query *q, const struct query_filter *f)
{
	int r = bound_query_add_uint(q, "max", TIMELINE_QUERY_MAX_INSTANCES);

	if (r == 0)
		r = add_hold(q, f);
	if (r == 0)
		r = bound_query_add_sql(q, f, SQL_INSTANCES);
	if (r == 0)
		r = bound_query_add_sql(q, f,
					leaves_gaps(f) ? SQL_INSTANCES_HELD : SQL_INSTANCES_PLAIN);
	return r == 0 ? bound_query_add_sql(q, f, SQL_INSTANCES_TOP) : r;
}

int timeline_query_instances(struct store *store, const struct query_filter *f,
			     struct timeline_instances *ret, struct err *err)
{
	struct query_filter all = *f;
	bool sum = profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM;
	struct timeline_instances is = {0};
	double covered_ns = 0;
	int r;

	all.instance = NULL;
	r = query_covered(store, &all, leaves_gaps(f), &covered_ns, err);
	if (r < 0)
		return r;
	r = bound_query_init(&is.query, store, &all, MAX_ANSWER_BYTES);
	if (r == 0)
		r = add_instances(&is.query, &all);
	if (r == 0)
		r = bound_query_run(&is.query, err);
	if (r == 0)
		r = read_instances(
			&is, covered_ns > 0 ? (sum ? (double)NS_PER_S : 1) / covered_ns : 0, err);
	if (r < 0) {
		timeline_instances_fini(&is);
		return r;
	}
	*ret = is;
	return 0;
}

void timeline_instances_fini(struct timeline_instances *i)
{
	free(i->items);
	bound_query_fini(&i->query);
	i->items = NULL;
}
