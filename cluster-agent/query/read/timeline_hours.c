/*
 * Values are added up by hour, of all sets of labels at once: there are two windows, of profiles
 * within an hour and of those that cross its end, which are divided there. What time the profiles
 * cover is known by set only, as there may be gaps between those of each. Mostly a few sets have
 * no gaps and cover all there is, so a few are asked first, then all for the hours that these do
 * not cover, then the profiles of hours in which there are gaps.
 *
 * Profiles that are not wholly within the range are read one by one.
 */
#include "cluster-agent/query/read/timeline_hours.h"

#include <errno.h>

#include "cluster-agent/query/read/profile_source.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/timeline_sql.h"
#include "cluster-agent/store/rowbinary.h"
#include "common/system/clock.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
#define SPAN_BYTES 25u /* Int64 start, end, UInt8, Int64 hour */
/* of shorter ranges, the profiles are few enough */
#define LEAST_RANGE_NS (INT64_C(6) * 86400 * (int64_t)NS_PER_S)
#define MAX_HOURS 4000u
#define FEW_SETS 8u

#define MAX_SETS 4000u
#define OF_SETS " AND " PROFILE_OF_SETS
#define OF_THESE_SETS " AND LabelSet IN {sets:Array(UInt64)}"
#define FROM_PROFILES " FROM ${quality} WHERE " PROFILE_OF_TYPE " AND "

/*
 * [series, ] hs, he, s, e, the value or its integral, how much of it is in the first hour, and
 * whether it only has a value. A profile of more than two hours is not divided.
 */
#define HOURS                                                                           \
	SCHEMA_START_HOUR " AS hs, " SCHEMA_END_HOUR " AS he, "                         \
			  "toUnixTimestamp64Nano(min(Start)) AS s, "                    \
			  "toUnixTimestamp64Nano(max(End)) AS e, "                      \
			  "if({sum:UInt8}, " SCHEMA_SUM ", " SCHEMA_INTEGRAL ") AS v, " \
			  "if({sum:UInt8}, " SCHEMA_HEAD_SUM ", " SCHEMA_HEAD_INTEGRAL  \
			  ") AS head, true AS is_value" FROM_PROFILES PROFILE_INNER
#define HOURS_GROUPED " GROUP BY hs, he, if(he > hs + 1, LabelSet, 0)"
#define EDGE(which)                                                                       \
	SCHEMA_START_HOUR " AS hs, hs AS he, min(" SCHEMA_START ") AS s, max(" SCHEMA_END \
			  ") AS e, if({sum:UInt8}, " SCHEMA_SUM ", " SCHEMA_INTEGRAL      \
			  ") AS v, 0. AS head, false AS is_value" FROM_PROFILES           \
			  "${range} AND " which
#define EDGE_GROUPED                                                                \
	" GROUP BY hs, intDiv(" SCHEMA_START ", {grid:UInt64}), intDiv(" SCHEMA_END \
	", {grid:UInt64})"
#define WINDOWS                                                                      \
	"w.1 AS a, w.2 AS b, if({sum:UInt8}, w.3, w.3 / greatest(b - a, 1)), "       \
	"toUInt8(is_value), hs FROM (SELECT *, (hs + 1) * 3600000000000 AS border, " \
	"arrayJoin(if(he = hs + 1, [(s, border, head), (border, e, v - head)], "     \
	"[(s, e, v)])) AS w FROM hours)"

/* start, end, whether there are gaps, and hs of the profiles of a set. */
#define SPANS                                                                                     \
	"SELECT min(s), max(e), toUInt8(has_gaps), hs FROM (SELECT " SCHEMA_START_HOUR            \
	" AS hs, " SCHEMA_END_HOUR " AS he, toUnixTimestamp64Nano(min(Start)) AS s, "             \
	"toUnixTimestamp64Nano(max(End)) AS e, " SQL_POWER(                                       \
		"e - s") " AS g, "                                                                \
			 "abs(" SCHEMA_LENGTH " - (e - s)) > {joint:UInt64} OR " SCHEMA_JOINTS    \
			 " != " SCHEMA_JOINT("s", "e") " AS has_gaps" FROM_PROFILES PROFILE_INNER \
						       " AND LabelSet % {every:UInt64} = 0"
#define SPANS_GROUPED " GROUP BY LabelSet, hs, he) GROUP BY has_gaps, hs, he, g, intDiv(s, g)"
/* The same of single profiles. */
#define EXACT_SPANS                                                                \
	"SELECT min(s), max(e), toUInt8(0), toInt64(0) FROM (SELECT " SCHEMA_START \
	" AS s, " SCHEMA_END " AS e, " SQL_POWER("e - s") " AS g" FROM_PROFILES "${range}"
#define EXACT_SPANS_GROUPED ") GROUP BY g, intDiv(s, g)"
/* Of the hours that are asked for; a list of all too many is only its first and its last one. */
#define OF_HOURS \
	" AND " SCHEMA_START_HOUR " >= {first:UInt64} AND " SCHEMA_START_HOUR " <= {last:UInt64}"
#define OF_THESE_HOURS OF_HOURS " AND " SCHEMA_START_HOUR " IN {hours:Array(UInt64)}"
#define BY_START                                                                          \
	" AND Start >= fromUnixTimestamp64Nano(toInt64({first:UInt64} * 3600000000000)) " \
	"AND Start < fromUnixTimestamp64Nano(toInt64(({last:UInt64} + 1) * 3600000000000))"

bool timeline_hours_fit(const struct query_filter *f, const struct timeline *t)
{
	bool on_hours = t->from_ns % SCHEMA_HOUR_NS == 0 && t->step_ns % SCHEMA_HOUR_NS == 0;

	return f->from_ns > 0 && f->to_ns - f->from_ns >= LEAST_RANGE_NS &&
	       (t->n_steps == 1 || on_hours);
}

int hour_sets_of(const struct label_sets *sets, const struct query_filter *f, struct hour_sets *ret)
{
	size_t n = 0;

	*ret = (struct hour_sets){0};
	for (size_t i = 0; i < sets->n_items; i++)
		n += label_set_is_of(&sets->items[i], f);
	if (n > MAX_SETS)
		return 0;
	ret->items = calloc(n + 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	ret->n = n > 0 ? n : 1; /* 0 is none */
	ret->is_list = true;
	for (size_t i = 0, k = 0; i < sets->n_items; i++)
		if (label_set_is_of(&sets->items[i], f))
			ret->items[k++] = sets->items[i].hash;
	return 0;
}

static int find_sets(struct store *store, const struct query_filter *f, struct hour_sets *ret,
		     struct err *err)
{
	struct label_sets *sets;
	int r = query_filter_is_set(f) ? label_sets_find(store, f, NULL, &sets, err) : 0;

	*ret = (struct hour_sets){0};
	return r == 0 && query_filter_is_set(f) ? hour_sets_of(sets, f, ret) : r;
}

void hour_sets_fini(struct hour_sets *s)
{
	free(s->items);
	*s = (struct hour_sets){0};
}

static void bind(struct bound_query *q, const struct query_filter *f, const struct hour_sets *sets)
{
	profile_source_bind(q, f);
	if (sets->is_list)
		bound_query_add_uints(q, "sets", sets->items, sets->n);
}

/* Appends one SELECT of profiles, of the sets of the filter. */
static void add_part(struct bound_query *q, const struct query_filter *f,
		     const struct hour_sets *sets, const char *template, const char *grouped)
{
	bound_query_add_sql(q, f, template);
	if (query_filter_is_set(f))
		bound_query_add_sql(q, f, sets->is_list ? OF_THESE_SETS : OF_SETS);
	bound_query_add_sql(q, f, grouped);
}

void timeline_hours_add(struct bound_query *q, const struct query_filter *f,
			const struct hour_sets *sets, const struct timeline *t, const char *series)
{
	static const char *const parts[][3] = {
		{"hours AS (SELECT ", HOURS, HOURS_GROUPED},
		{" UNION ALL SELECT ", EDGE(PROFILE_BEFORE_HEAD), EDGE_GROUPED},
		{" UNION ALL SELECT ", EDGE(PROFILE_BEHIND_TAIL), EDGE_GROUPED},
	};
	const bool by_series = series[0];

	bind(q, f, sets);
	timeline_bind_grid(q, f->to_ns - f->from_ns, t);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		bound_query_addf(q, "%s%s", parts[i][0], series);
		add_part(q, f, sets, parts[i][1], parts[i][2]);
		if (by_series)
			bound_query_addf(q, ", series");
	}
	bound_query_addf(q, ") SELECT %s", by_series ? "series, " : "");
	bound_query_add_sql(q, f, WINDOWS);
	if (by_series)
		bound_query_addf(q, " ORDER BY series");
}

/* ---- the time that is covered ---- */

/* A window, and whether there are gaps in it: then it says nothing about that time. */
struct span {
	struct timeline_window w;
	bool has_gaps;
	uint64_t hour; /* in which its profiles begin */
};

struct spans {
	struct span *items;
	size_t n;
};

/* What the rows of an answer are of. */
enum columns {
	OF_TIME,
	OF_VALUES,
	OF_SERIES, /* a value, after the number of its series */
};

/* Appends the rows of an answer. */
static int read_spans(struct spans *s, const struct buf *answer, enum columns columns,
		      struct err *err)
{
	const bool values = columns != OF_TIME;
	size_t max = s->n + answer->len / SPAN_BYTES;
	struct span *items = reallocarray(s->items, max + 1, sizeof(*items));
	struct rowbinary_reader r;

	if (!items)
		return -ENOMEM;
	s->items = items;
	rowbinary_reader_init(&r, answer->data, answer->len);
	/* a row that is cut off is one more than max: it ends in an error of the reader */
	while (rowbinary_has_more(&r) && s->n <= max) {
		struct span *to = &items[s->n++];

		if (columns == OF_SERIES)
			rowbinary_get_u64(&r);
		*to = (struct span){.w.start_ns = rowbinary_get_i64(&r)};
		to->w.end_ns = rowbinary_get_i64(&r);
		to->w.value = values ? rowbinary_get_f64(&r) : 0;
		to->has_gaps = rowbinary_get_u8(&r) != 0;
		to->w.is_value = values && to->has_gaps;
		to->has_gaps = !values && to->has_gaps;
		to->hour = (uint64_t)rowbinary_get_i64(&r);
	}
	return bound_query_check(&r, err);
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->w.start_ns > y->w.start_ns) - (x->w.start_ns < y->w.start_ns);
}

/* Sorts spans, and sets ret to the time that is covered; it has room for all. */
static size_t unite(struct spans *s, struct timeline_window *ret)
{
	size_t n = 0;

	if (s->n > 0)
		qsort(s->items, s->n, sizeof(*s->items), by_start);
	for (size_t i = 0; i < s->n; i++) {
		const struct span *from = &s->items[i];

		if (from->w.is_value || from->has_gaps)
			continue;
		if (n == 0 || from->w.start_ns > ret[n - 1].end_ns)
			ret[n++] = from->w;
		else if (from->w.end_ns > ret[n - 1].end_ns)
			ret[n - 1].end_ns = from->w.end_ns;
	}
	return n;
}

/* What the SELECT of values groups profiles by that are read one by one. */
struct edge {
	uint64_t hour;
	uint64_t start;
	uint64_t end;
};

static struct edge edge_of(const struct span *s, uint64_t grid_ns)
{
	return (struct edge){s->hour, (uint64_t)s->w.start_ns / grid_ns,
			     (uint64_t)s->w.end_ns / grid_ns};
}

static int compare_edges(const void *a, const void *b, void *ctx)
{
	const uint64_t *grid_ns = ctx;
	struct edge x = edge_of(a, *grid_ns), y = edge_of(b, *grid_ns);

	return memcmp(&x, &y, sizeof(x));
}

static double length_of(const struct timeline_window *w)
{
	return w->end_ns > w->start_ns ? (double)(w->end_ns - w->start_ns) : 1;
}

static void join(struct timeline_window *to, const struct timeline_window *w, bool sum)
{
	double integral = to->value * length_of(to) + w->value * length_of(w);

	to->start_ns = to->start_ns < w->start_ns ? to->start_ns : w->start_ns;
	to->end_ns = to->end_ns > w->end_ns ? to->end_ns : w->end_ns;
	to->value = sum ? to->value + w->value : integral / length_of(to);
}

/*
 * Joins windows of series where there is one without series. Those that only have values need it
 * not: they lie within an hour.
 */
static void join_series(struct spans *s, uint64_t grid_ns, bool sum)
{
	size_t n_values = 0, n;

	for (size_t i = 0; i < s->n; i++) {
		struct span item = s->items[i];

		if (!item.w.is_value)
			continue;
		s->items[i] = s->items[n_values];
		s->items[n_values++] = item;
	}
	n = n_values;
	if (s->n > n_values)
		qsort_r(s->items + n_values, s->n - n_values, sizeof(*s->items), compare_edges,
			&grid_ns);
	for (size_t i = n_values; i < s->n; i++) {
		if (n > n_values && compare_edges(&s->items[n - 1], &s->items[i], &grid_ns) == 0)
			join(&s->items[n - 1].w, &s->items[i].w, sum);
		else
			s->items[n++] = s->items[i];
	}
	s->n = n;
}

static int compare_hours(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t sort_hours(uint64_t *hours, size_t n)
{
	size_t kept = 0;

	if (n > 0)
		qsort(hours, n, sizeof(*hours), compare_hours);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || hours[kept - 1] != hours[i])
			hours[kept++] = hours[i];
	return kept;
}

struct hours {
	uint64_t *items; /* ascending */
	size_t n;
};

static void hours_fini(struct hours *h)
{
	free(h->items);
	*h = (struct hours){0};
}

/*
 * Finds the hours of which it is not known yet what is covered: there are values, or, if all sets
 * have been asked, sets with gaps, and not all of their time is covered.
 */
static int find_open(struct spans *s, bool all_asked, struct hours *ret)
{
	AUTO_FREE struct timeline_window *covered = calloc(s->n + 1, sizeof(*covered));
	AUTO_FREE uint64_t *hours = calloc(s->n + 1, sizeof(*hours));
	size_t n = 0, n_covered, k = 0;

	if (!covered || !hours)
		return -ENOMEM;
	n_covered = unite(s, covered);
	for (size_t i = 0; i < s->n; i++) {
		const struct span *of = &s->items[i];

		while (k < n_covered && covered[k].end_ns < of->w.start_ns)
			k++;
		if (all_asked ? !of->has_gaps : !of->w.is_value)
			continue;
		if (k == n_covered || covered[k].start_ns > of->w.start_ns ||
		    covered[k].end_ns < of->w.end_ns)
			hours[n++] = of->hour;
	}
	ret->n = sort_hours(hours, n);
	ret->items = TAKE_PTR(hours);
	return 0;
}

/* What is asked, and what is known so far. */
struct asking {
	struct store *store;
	const struct query_filter *f;
	struct hour_sets sets;
	struct spans spans;
};

static bool is_sum(const struct asking *a)
{
	return profile_type_get(a->f->type)->aggregation == PROFILE_AGGREGATION_SUM;
}

static int ask_values(struct asking *a, const struct timeline *t, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	bound_query_init(&q, a->store, a->f, MAX_ANSWER_BYTES);
	bound_query_add_uint(&q, "sum", is_sum(a));
	bound_query_addf(&q, "WITH ");
	timeline_hours_add(&q, a->f, &a->sets, t, "");
	r = bound_query_run(&q, err);
	return r == 0 ? read_spans(&a->spans, &q.answer, OF_VALUES, err) : r;
}

static int take_values(struct asking *a, const struct timeline *t, const struct buf *series,
		       struct err *err)
{
	int r = read_spans(&a->spans, series, OF_SERIES, err);

	if (r == 0)
		join_series(&a->spans, timeline_grid_ns(a->f->to_ns - a->f->from_ns, t), is_sum(a));
	return r;
}

/* Appends the condition for these hours, for all if there are none. */
static void add_hours(struct bound_query *q, const struct query_filter *f, const struct hours *h)
{
	if (h->n == 0)
		return;
	bound_query_add_uint(q, "first", h->items[0]);
	bound_query_add_uint(q, "last", h->items[h->n - 1]);
	if (h->n <= MAX_HOURS)
		bound_query_add_uints(q, "hours", h->items, h->n);
	bound_query_add_sql(q, f, h->n <= MAX_HOURS ? OF_THESE_HOURS : OF_HOURS);
}

/* Asks for every n-th set; 0: for profiles, one by one. */
static int ask_spans(struct asking *a, const struct hours *h, uint64_t every, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	bound_query_init(&q, a->store, a->f, MAX_ANSWER_BYTES);
	bind(&q, a->f, &a->sets);
	bound_query_add_uint(&q, "joint", SCHEMA_JOINT_NS);
	bound_query_add_uint(&q, "every", every);
	add_part(&q, a->f, &a->sets, every > 0 ? SPANS : EXACT_SPANS, every > 0 ? "" : BY_START);
	add_hours(&q, a->f, h);
	bound_query_add_sql(&q, a->f, every > 0 ? SPANS_GROUPED : EXACT_SPANS_GROUPED);
	r = bound_query_run(&q, err);
	return r == 0 ? read_spans(&a->spans, &q.answer, OF_TIME, err) : r;
}

/* Every how many-th set is asked first, so that there are FEW_SETS at a time. */
static uint64_t few_sets(const struct asking *a)
{
	uint64_t n = a->f->source ? a->f->source->n_sets : 0;

	if (a->sets.is_list && a->sets.n < n)
		n = a->sets.n;
	return n < FEW_SETS ? 1 : n / FEW_SETS;
}

/* Finds out what is covered. */
static int ask_covered(struct asking *a, struct err *err)
{
	CLEANUP(hours_fini) struct hours open = {0};
	uint64_t every = few_sets(a);
	int r = ask_spans(a, &open, every, err);

	if (r == 0 && every > 1)
		r = find_open(&a->spans, false, &open);
	if (r == 0 && open.n > 0)
		r = ask_spans(a, &open, 1, err);
	hours_fini(&open);
	if (r == 0)
		r = find_open(&a->spans, true, &open);
	return r == 0 && open.n > 0 ? ask_spans(a, &open, 0, err) : r;
}

/* Sets ret to all that is known but the spans with gaps. */
static int take_windows(const struct spans *s, struct hour_windows *ret)
{
	struct timeline_window *windows = calloc(s->n + 1, sizeof(*windows));
	size_t n = 0;

	if (!windows)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++)
		if (!s->items[i].has_gaps)
			windows[n++] = s->items[i].w;
	*ret = (struct hour_windows){windows, n};
	return 0;
}

int timeline_hours_query(struct store *store, const struct query_filter *f,
			 const struct timeline *t, const struct buf *series,
			 struct hour_windows *ret, struct err *err)
{
	struct asking a = {.store = store, .f = f};
	int r = find_sets(store, f, &a.sets, err);

	if (r == 0)
		r = series ? take_values(&a, t, series, err) : ask_values(&a, t, err);
	if (r == 0 && a.spans.n > 0)
		r = ask_covered(&a, err);
	if (r == 0)
		r = take_windows(&a.spans, ret);
	free(a.spans.items);
	hour_sets_fini(&a.sets);
	return r;
}
