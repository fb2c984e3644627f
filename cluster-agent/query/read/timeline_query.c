/*
 * The engine turns profiles into windows (start, end, value); timeline.c spreads these over the
 * steps.
 *
 * Windows are merged by the engine (timeline_sql.h), so that the answer has thousands of rows where
 * there are millions of profiles.
 *
 * Profiles of the node-agent cover all of the time, and their windows are taken as they are:
 * SQL_PLAIN. Scraped profiles are samples of time; each is extended to the next one of its
 * instance, or "held", by window functions: SQL_OWN or SQL_OWN_OF_SOME, then SQL_HELD. When
 * a pod ends or several scrapes fail, the gap is longer than {hold} and stays a gap.
 *
 * The list of instances cannot afford window functions; it estimates the same from sums, by
 * instance.
 *
 * Profiles are read from profiling_quality if it has all of them (profile_source.h), else from the
 * samples, where each has as many rows as stacks.
 */
#include "cluster-agent/query/read/timeline_query.h"

#include <errno.h>

#include "cluster-agent/query/read/label_sets.h"
#include "cluster-agent/query/read/timeline_hours.h"
#include "cluster-agent/query/read/timeline_sql.h"
#include "cluster-agent/store/rowbinary.h"
#include "common/system/clock.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
#define WINDOW_BYTES 24u /* Int64 start, end, Float64 value */

/* Windows (s, e) and their values (x), for profiles that leave no gaps. */
#define SQL_PLAIN                                                     \
	"WITH windows AS (SELECT toUnixTimestamp64Nano(Start) AS s, " \
	"toUnixTimestamp64Nano(End) AS e, Value AS x FROM ${samples} WHERE ${which}) "

#define SQL_PLAIN_OF_PROFILES                                                             \
	"WITH windows AS (SELECT " SCHEMA_START " AS s, " SCHEMA_END " AS e, Value AS x " \
	"FROM ${quality} WHERE " PROFILE_OF_TYPE " AND ${range}"
#define SQL_OF_SETS " AND " PROFILE_OF_SETS

/*
 * Profiles (s, stop, v) by instance (key), of profiling_quality if it has all of them with their
 * labels.
 */
#define SQL_OWN                                                                       \
	"WITH own AS (SELECT tuple(Host, Instance) AS key, "                          \
	"toUnixTimestamp64Nano(End) AS stop, toUnixTimestamp64Nano(Start) AS begin, " \
	"if(stop > begin, begin, stop - {least:UInt64}) AS s, toFloat64(Value) AS v " \
	"FROM ${quality} WHERE " PROFILE_OF_TYPE " AND ${hold_range}"
#define SQL_OWN_OF_SOME                                                                         \
	"WITH own AS (SELECT tuple(${id}, ${host}, Labels['port'], Labels['container.id']) AS " \
	"key, "                                                                                 \
	"toUnixTimestamp64Nano(End) AS stop, toUnixTimestamp64Nano(Start) AS begin, "           \
	"if(stop > begin, begin, stop - {least:UInt64}) AS s, "                                 \
	"sum(toFloat64(Value)) AS v FROM ${samples} WHERE ${which_hold} "                       \
	"GROUP BY key, stop, begin), "

#define SQL_TIMELINE "SELECT " SQL_MERGED SQL_FROM_WINDOWS("")

/*
 * How much of the range the windows cover, merged as if all were within a step; those without a
 * length get one as in timeline.h.
 */
#define SQL_COVERED                                                                     \
	"SELECT toFloat64(intervalLengthSum(a, b)) FROM (SELECT "                       \
	"greatest(min(if(e > s, s, s - toInt64({least:UInt64}))), {from:Int64}) AS a, " \
	"least(max(e), {to:Int64}) AS b FROM (SELECT s, e, " SQL_POWER(                 \
		"e - s") " AS g FROM windows) GROUP BY g, intDiv(s, g))"

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
/* Starts are counted by set, of which an instance has several one after the other at most. */
#define SQL_INSTANCES_HELD_OF_PROFILES                                                     \
	"WITH sums AS (SELECT LabelSet AS set, sum(toFloat64(Value) * ${overlap_ns} / "    \
	"if({sum:UInt8}, ${window_ns}, 1)) AS w, uniq(Start) AS n_starts, "                \
	"sum(toFloat64(${overlap_ns})) AS o, count() AS c, min(" SCHEMA_START ") AS a, "   \
	"max(" SCHEMA_START ") AS b FROM ${quality} WHERE " PROFILE_OF_TYPE                \
	" AND ${range} GROUP BY set), "                                                    \
	"named AS (SELECT Labels, w, n_starts, o, c, a, b FROM sums ${join} " PROFILE_SETS \
	" AS sets ON sums.set = sets.LabelSet), "                                          \
	"own AS (SELECT ${id} AS id, ${host} AS host, sum(n_starts) AS n, "                \
	"sum(o) / sum(c) * n AS covered, toFloat64(max(b) - min(a)) "                      \
	"* n / greatest(n - 1, 1) AS reach, "                                              \
	"sum(w) * greatest(least(reach, covered + n * {hold:UInt64}, "                     \
	"toFloat64({to:Int64} - {from:Int64})) / covered, 1) AS held FROM named "          \
	"WHERE ${filter} GROUP BY id, host, Labels['port'], Labels['container.id']) "
#define SQL_INSTANCES_TOP                               \
	"SELECT id, host, sum(held) AS value FROM own " \
	"GROUP BY id, host ORDER BY value DESC, id, host LIMIT {max:UInt64}"

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
		windows[n].value = rowbinary_get_f64(&r);
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

static bool is_sum(const struct query_filter *f)
{
	return profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM;
}

static void add_hold(struct bound_query *q, const struct query_filter *f)
{
	bound_query_add_uint(q, "sum", is_sum(f));
	bound_query_add_uint(q, "hold", TIMELINE_HOLD_NS);
}

/* Adds the end of a SELECT of profiles, which takes those of the filter. */
static void add_of_sets(struct bound_query *q, const struct query_filter *f, const char *end)
{
	if (query_filter_is_set(f))
		bound_query_add_sql(q, f, SQL_OF_SETS);
	bound_query_addf(q, "%s", end);
}

static void add_plain(struct bound_query *q, const struct query_filter *f, bool whole)
{
	if (!whole) {
		bound_query_add_sql(q, f, SQL_PLAIN);
		return;
	}
	profile_source_bind(q, f);
	bound_query_add_sql(q, f, SQL_PLAIN_OF_PROFILES);
	add_of_sets(q, f, ") ");
}

static void add_windows(struct bound_query *q, const struct query_filter *f, bool held, bool whole)
{
	add_hold(q, f);
	bound_query_add_uint(q, "least", is_sum(f) ? NS_PER_S : 1);
	if (!held) {
		add_plain(q, f, whole);
		return;
	}
	profile_source_bind(q, f);
	bound_query_add_sql(q, f, whole ? SQL_OWN : SQL_OWN_OF_SOME);
	if (whole)
		add_of_sets(q, f, "), ");
	bound_query_add_sql(q, f, SQL_HELD(""));
}

/* template is what to ask of the windows. */
static int ask_windows(struct bound_query *q, const struct query_filter *f, bool held,
		       const char *template, struct err *err)
{
	bool whole = false;
	int r = profile_source_is_whole(q->store, f, false, &whole, err);

	if (r < 0)
		return r;
	add_windows(q, f, held, whole);
	bound_query_add_sql(q, f, template);
	return bound_query_run(q, err);
}

static int query_windows(struct store *store, const struct query_filter *f,
			 const struct timeline *t, struct timeline_window **ret, size_t *ret_n,
			 struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	bound_query_init(&q, store, f, MAX_ANSWER_BYTES);
	timeline_bind_grid(&q, f->to_ns - f->from_ns, t);
	r = ask_windows(&q, f, leaves_gaps(f), SQL_TIMELINE, err);
	return r == 0 ? read_windows(&q, ret, ret_n, err) : r;
}

/* Finds the windows of hours, if t can have them. */
static int query_hours(struct store *store, const struct query_filter *f, const struct timeline *t,
		       const struct buf *series, struct hour_windows *ret, struct err *err)
{
	CLEANUP(profile_source_fini) struct profile_source source = {0};
	struct query_filter own = *f;
	bool whole = false;
	int r;

	own.source = f->source ? f->source : &source;
	if (!timeline_hours_fit(f, t))
		return 0;
	r = profile_source_is_whole(store, &own, false, &whole, err);
	return r == 0 && whole ? timeline_hours_query(store, &own, t, series, ret, err) : r;
}

int timeline_query(struct store *store, const struct query_filter *f, struct timeline *t,
		   struct err *err)
{
	return timeline_query_of(store, f, t, NULL, err);
}

int timeline_query_of(struct store *store, const struct query_filter *f, struct timeline *t,
		      const struct buf *series, struct err *err)
{
	struct hour_windows hours = {0};
	AUTO_FREE struct timeline_window *windows = NULL;
	size_t n_windows = 0;
	int r = leaves_gaps(f) ? 0 : query_hours(store, f, t, series, &hours, err);

	windows = hours.items;
	n_windows = hours.n;
	if (r == 0 && !hours.items)
		r = query_windows(store, f, t, &windows, &n_windows, err);
	if (r < 0)
		return r;
	timeline_fill(t, windows, n_windows);
	t->covered_ns =
		hours.items ? timeline_covered_ns(windows, n_windows, f->from_ns, f->to_ns) : 0;
	return 0;
}

/* A timeline with one step. */
static struct timeline whole_range(const struct query_filter *f, struct timeline_step *step)
{
	*step = (struct timeline_step){0};
	return (struct timeline){
		.from_ns = f->from_ns,
		.step_ns = f->to_ns - f->from_ns,
		.n_steps = 1,
		.aggregation = profile_type_get(f->type)->aggregation,
		.steps = step,
	};
}

int timeline_query_rate(struct store *store, const struct query_filter *f,
			struct timeline_rate *ret, struct err *err)
{
	struct timeline_step step;
	struct timeline t = whole_range(f, &step);
	int r = timeline_query(store, f, &t, err);

	if (r < 0)
		return r;
	*ret = (struct timeline_rate){
		.value = step.covered_ns > 0 ? step.value : 0,
		.covered_ns = step.covered_ns,
	};
	return 0;
}

static int ask_covered(struct store *store, const struct query_filter *f, bool held, double *ret_ns,
		       struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader reader;
	int r;

	bound_query_init(&q, store, f, MAX_ANSWER_BYTES);
	r = ask_windows(&q, f, held, SQL_COVERED, err);
	if (r < 0)
		return r;
	rowbinary_reader_init(&reader, q.answer.data, q.answer.len);
	*ret_ns = rowbinary_get_f64(&reader);
	return bound_query_check(&reader, err);
}

static int query_covered(struct store *store, const struct query_filter *f, bool held,
			 double *ret_ns, struct err *err)
{
	struct hour_windows hours = {0};
	struct timeline_step step;
	struct timeline t = whole_range(f, &step);
	int r = held ? 0 : query_hours(store, f, &t, NULL, &hours, err);

	if (r < 0)
		return r;
	if (!hours.items)
		return ask_covered(store, f, held, ret_ns, err);
	timeline_fill(&t, hours.items, hours.n);
	free(hours.items);
	*ret_ns = step.covered_ns;
	return 0;
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

static void add_instances(struct bound_query *q, const struct query_filter *f, bool whole)
{
	profile_source_bind(q, f);
	bound_query_add_uint(q, "max", TIMELINE_QUERY_MAX_INSTANCES);
	add_hold(q, f);
	bound_query_add_sql(q, f, whole ? SQL_INSTANCES_HELD_OF_PROFILES : SQL_INSTANCES);
	if (!whole)
		bound_query_add_sql(q, f,
				    leaves_gaps(f) ? SQL_INSTANCES_HELD : SQL_INSTANCES_PLAIN);
	bound_query_add_sql(q, f, SQL_INSTANCES_TOP);
}

static int ask_instances(struct timeline_instances *is, const struct query_filter *f, bool whole,
			 double scale, struct err *err)
{
	int r;

	add_instances(&is->query, f, whole);
	r = bound_query_run(&is->query, err);
	return r == 0 ? read_instances(is, scale, err) : r;
}

/* Of profiles that leave no gaps. */
static int take_instances(struct timeline_instances *is, struct store *store,
			  const struct query_filter *f, double scale, struct err *err)
{
	AUTO_FREE struct label_sum *sums = NULL;
	struct query_filter all = *f;
	struct label_sets *sets;
	size_t n = 0;
	int r = label_sets_find(store, f, NULL, &sets, err);

	all.instance = NULL;
	if (r == 0)
		r = label_sets_find_values(store, f, sets, err);
	if (r == 0)
		r = label_sets_sum(sets, &all, LABEL_SUM_BY_ID_AND_HOST, &sums, &n);
	if (r < 0)
		return r;
	n = n < TIMELINE_QUERY_MAX_INSTANCES ? n : TIMELINE_QUERY_MAX_INSTANCES;
	is->items = calloc(n + 1, sizeof(*is->items));
	if (!is->items)
		return -ENOMEM;
	for (; is->n_items < n; is->n_items++) {
		const struct label_sum *s = &sums[is->n_items];

		is->items[is->n_items] = (struct timeline_instance){
			s->name.text, s->name.len, s->host.text, s->host.len, s->value * scale};
	}
	is->has_hosts = sets->has_hosts;
	return 0;
}

static int find_instances(struct timeline_instances *is, struct store *store,
			  const struct query_filter *f, double scale, struct err *err)
{
	struct query_filter own = *f, all;
	bool whole = false;
	int r;

	bound_query_init(&is->query, store, f, MAX_ANSWER_BYTES);
	own.source = f->source ? f->source : &is->source;
	all = own;
	all.instance = NULL;
	r = profile_source_is_whole(store, &own, true, &whole, err);
	if (r < 0)
		return r;
	return whole && !leaves_gaps(f) ? take_instances(is, store, &own, scale, err)
					: ask_instances(is, &all, whole, scale, err);
}

int timeline_query_instances(struct store *store, const struct query_filter *f,
			     const struct timeline *t, struct timeline_instances *ret,
			     struct err *err)
{
	struct query_filter all = *f;
	bool sum = profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM;
	double covered_ns = f->instance && f->instance[0] ? 0 : t->covered_ns;
	int r = 0;

	all.instance = NULL;
	if (!(covered_ns > 0))
		r = query_covered(store, &all, leaves_gaps(f), &covered_ns, err);
	if (r < 0)
		return r;
	*ret = (struct timeline_instances){0};
	r = find_instances(ret, store, f,
			   covered_ns > 0 ? (sum ? (double)NS_PER_S : 1) / covered_ns : 0, err);
	if (r < 0)
		timeline_instances_fini(ret);
	return r;
}

void timeline_instances_fini(struct timeline_instances *i)
{
	free(i->items);
	bound_query_fini(&i->query);
	profile_source_fini(&i->source);
	i->items = NULL;
}
