/*
 * The overview of all services. It reads profiling_quality, one row per profile and type, and
 * not profiling_samples, one row per stack: hundreds of times less, so that a week fits as
 * well.
 *
 * "Cores" is CPU time divided by wall time. A node-agent's profiles follow each other without
 * gaps, so their CPU time counts as it is. A scraped profile is a sample, 10 s of each minute
 * perhaps, and stands for the time until the next one; SQL_TYPES estimates that from sums
 * alone, as to walk through the profiles of every instance, which timeline_query.c does for one
 * service, would be too slow here.
 *
 * Sparklines are a second query, for all services at once: each window is cut at the borders of
 * the steps, and its value spread evenly over the pieces. Both answers are sorted alike, so that
 * they are merged in one pass.
 *
 * When a service was first seen is asked of profiling_profiles, which has a row per service, type
 * and day: cheap for all days, and exact to a day. Profiles in the range are exact.
 */
#include "cluster-agent/query/read/application_query.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/query/read/timeline_tail.h"
#include "cluster-agent/store/rowbinary.h"
#include "common/system/clock.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
#define MAX_LAST_SEEN_BYTES ((size_t)4096)
#define MIN_ROW_BYTES 66u /* two empty strings and eight numbers of 8 bytes */

/*
 * What of a profile counts: the newest minute is left out, to which some agents have yet to
 * contribute, or the whole fleet would seem to need less than before.
 */
#define SQL_COUNTED                                                    \
	"if(Start >= fromUnixTimestamp64Nano({until:Int64}), 0, "      \
	"greatest(least(toUnixTimestamp64Nano(End), {until:Int64}) - " \
	"greatest(toUnixTimestamp64Nano(Start), {from:Int64}), 1))"

/*
 * held is v as if each profile of an instance lasted until the next one began. It is estimated:
 * the n profiles of an instance are taken to begin at equal distances, and each stands for that
 * distance, but for {hold} beyond its end at most.
 *
 * Every row carries the time of the first and the last profile of all services (first, last): the
 * search must not change by what the CPU time is divided.
 */
#define SQL_TYPES                                                                               \
	"WITH instances AS (SELECT ServiceName, Type, "                                         \
	"toUnixTimestamp64Nano(max(End)) AS stop, toUnixTimestamp64Nano(min(Start)) AS begin, " \
	"sum(toFloat64(Value) * " SQL_COUNTED " / ${window_ns}) AS v, "                         \
	"sum(toFloat64(" SQL_COUNTED ")) AS own, count() AS n, "                                \
	"toFloat64(toUnixTimestamp64Nano(max(Start)) - begin) * n / greatest(n - 1, 1) "        \
	"AS reach FROM ${quality} WHERE ${range} AND length(Type) <= 128"
#define SQL_TYPES_HELD                                                                 \
	" GROUP BY ServiceName, Type, Host, Instance), "                               \
	"held AS (SELECT ServiceName, Type, stop, begin, v, "                          \
	"min(begin) OVER () AS first, max(stop) OVER () AS last, "                     \
	"v * greatest(least(reach, own + n * {hold:UInt64}, toFloat64(last - first), " \
	"toFloat64({until:Int64} - {from:Int64})) / greatest(own, 1), 1) AS held "     \
	"FROM instances), "                                                            \
	"known AS (SELECT ServiceName, toUnixTimestamp64Nano(min(LastSeen)) AS since " \
	"FROM ${profiles} WHERE 1"
#define SQL_TYPES_KNOWN                                                                    \
	" GROUP BY ServiceName), "                                                         \
	"types AS (SELECT ServiceName, Type, max(stop) AS t_stop, min(begin) AS t_begin, " \
	"sum(v) AS t_v, sum(held) AS t_held, any(first) AS t_first, any(last) AS t_last "  \
	"FROM held WHERE 1"
/*
 * Whoever uploads decides how many services and types there are, and the list must not fail for it:
 * it has the 64 types of a service that count CPU time or came last, and the busiest services, up
 * to {limit} and to an amount of text.
 */
#define SQL_TYPES_GROUPED                                                                    \
	" GROUP BY ServiceName, Type), "                                                     \
	"services AS (SELECT ServiceName, max(multiIf(Type IN (${gapless_cpu_types}), t_v, " \
	"Type IN (${cpu_types}), t_held, 0)) AS busiest, "                                   \
	"arraySlice(arrayReverseSort(x -> (x.1, x.2), groupArray((Type IN (${cpu_types}), "  \
	"t_stop, Type, t_begin, t_v, t_held, t_first, t_last))), 1, 64) AS own "             \
	"FROM types GROUP BY ServiceName), "                                                 \
	"places AS (SELECT *, count() OVER () AS n, row_number() OVER w AS place, "          \
	"sum(arraySum(x -> 100 + length(ServiceName) + length(x.3), own)) OVER w AS bytes "  \
	"FROM services WINDOW w AS (ORDER BY busiest DESC, ServiceName "                     \
	"ROWS UNBOUNDED PRECEDING)), "                                                       \
	"listed AS (SELECT ServiceName, n, arrayJoin(own) AS t FROM places "                 \
	"WHERE place <= {limit:UInt64} AND bytes <= 16777216) "                              \
	"SELECT listed.ServiceName AS s, t.3 AS type, t.2, t.4, t.5, t.6, t.7, t.8, since, " \
	"toUInt64(n) FROM listed LEFT JOIN known ON listed.ServiceName = known.ServiceName " \
	"ORDER BY s, type"
#define SQL_SEARCH                                                       \
	" AND arrayAll(w -> positionCaseInsensitiveUTF8(ServiceName, w)" \
	" > 0, splitByWhitespace({search:String}))"
#define SQL_OF_SERVICE " AND ServiceName = {service:String}"
#define SQL_LAST_SEEN "SELECT count(), toUnixTimestamp64Nano(max(LastSeen)) FROM ${profiles}"

/*
 * CPU time by step (used), and the cores of all instances while they were profiled (busy). The
 * windows of a sender that gives no duration are a second long, as in timeline.h.
 *
 * Instances that are scraped in turn have profiles in different steps, so each stands for the
 * steps until its next profile, but for {hold} at most. After its last profile it stands for as
 * many steps as usual, while others still have profiles.
 */
#define SQL_SPARK                                                                               \
	"WITH windows AS (SELECT ServiceName, Type, Host, Instance, "                           \
	"toFloat64(Value) AS value, toUnixTimestamp64Nano(End) AS stop, "                       \
	"toUnixTimestamp64Nano(Start) AS begin, toInt64({step:UInt64}) AS len, "                \
	"if(stop > begin, begin, stop - 1000000000) AS start, "                                 \
	"arrayJoin(range(toUInt64(intDiv(greatest(start, {from:Int64}) - {from:Int64}, len)), " \
	"toUInt64(intDiv(least(stop, {until:Int64}) - 1 - {from:Int64}, len)) + 1)) AS step, "  \
	"toFloat64(least(stop, {until:Int64}, {from:Int64} + (toInt64(step) + 1) * len) - "     \
	"greatest(start, {from:Int64} + toInt64(step) * len)) AS part "                         \
	"FROM ${quality} WHERE ${range} AND Start < fromUnixTimestamp64Nano({until:Int64}) "    \
	"AND Type IN (${cpu_types})"
#define SQL_SPARK_STEPS                                                                            \
	"), steps AS (SELECT ServiceName, Type, Host, Instance, step, "                            \
	"sum(value * part / (stop - start)) AS v, v / greatest(sum(part), 1) AS busy "             \
	"FROM windows GROUP BY ServiceName, Type, Host, Instance, step), "                         \
	"instances AS (SELECT ServiceName, Type, arraySort(groupArray((step, v, busy))) AS own, "  \
	"max(step) AS stop FROM steps GROUP BY ServiceName, Type, Host, Instance), "               \
	"ends AS (SELECT ServiceName, Type, own, least(stop + toUInt64(round((stop - own[1].1) "   \
	"/ greatest(length(own) - 1, 1))), max(stop) OVER (PARTITION BY ServiceName, Type) + 1) "  \
	"AS end FROM instances), "                                                                 \
	"held AS (SELECT ServiceName, Type, "                                                      \
	"arrayPushBack(arrayPopFront(arrayMap(x -> x.1, own)), end) AS next, "                     \
	"arrayJoin(arrayConcat(arrayMap(x -> (x.1, x.2, x.3, 1), own), arrayFlatten(arrayMap("     \
	"(x, n) -> arrayMap(k -> (k, 0., x.3, 0), range(x.1 + 1, if((toInt64(n) - 1 - "            \
	"toInt64(x.1)) * {step:UInt64} <= {hold:UInt64}, n, x.1))), own, next)))) AS p FROM ends)" \
	", sums AS (SELECT ServiceName, Type, p.1 AS step, if(sum(p.4) > 0, sum(p.2), nan) "       \
	"AS used, sum(p.3) AS busy FROM held GROUP BY ServiceName, Type, step) "                   \
	"SELECT ServiceName, Type, groupArray(step), groupArray(used), groupArray(busy) "          \
	"FROM sums WHERE 1"
#define SQL_SPARK_GROUPED " GROUP BY ServiceName, Type ORDER BY ServiceName, Type"

/* From the first to the last profile, clipped to the range. */
struct span {
	int64_t from_ns;
	int64_t to_ns;
};

/* Profiles of the node-agent leave no gaps, so nothing is held. */
static void set_cpu_time(struct application_type *t, double cpu_ns, double held_ns)
{
	char name[64];
	const struct profile_type *known;

	if (!t->type || t->type_len >= sizeof(name))
		return;
	memcpy(name, t->type, t->type_len);
	name[t->type_len] = '\0';
	known = profile_type_get(name);
	t->has_cores = profile_type_is_cpu_time(known);
	t->leaves_gaps = !known->node_agent;
	if (t->has_cores)
		t->cores = known->node_agent ? cpu_ns : held_ns;
}

static void read_type(struct rowbinary_reader *r, struct application_type *t, struct span *span,
		      size_t *ret_n_services)
{
	double cpu_ns, held_ns;
	int64_t since_ns;

	t->service = rowbinary_get_string(r, &t->service_len);
	t->type = rowbinary_get_string(r, &t->type_len);
	t->last_seen_ns = rowbinary_get_i64(r);
	t->begin_ns = rowbinary_get_i64(r);
	cpu_ns = rowbinary_get_f64(r);
	held_ns = rowbinary_get_f64(r);
	span->from_ns = rowbinary_get_i64(r);
	span->to_ns = rowbinary_get_i64(r);
	since_ns = rowbinary_get_i64(r);
	*ret_n_services = rowbinary_get_u64(r);
	set_cpu_time(t, cpu_ns, held_ns);
	t->first_seen_ns = since_ns > 0 && since_ns < t->begin_ns ? since_ns : t->begin_ns;
}

static int read_types(struct application_list *l, int64_t from_ns, struct err *err)
{
	struct span span = {0};
	size_t max = l->query.answer.len / MIN_ROW_BYTES + 1;
	struct rowbinary_reader r;
	double span_ns;
	int e;

	l->types = calloc(max, sizeof(*l->types));
	if (!l->types)
		return -ENOMEM;
	rowbinary_reader_init(&r, l->query.answer.data, l->query.answer.len);
	while (rowbinary_has_more(&r) && l->n_types < max)
		read_type(&r, &l->types[l->n_types++], &span, &l->n_services);
	e = bound_query_check(&r, err);
	if (e < 0)
		return e;
	span.from_ns = span.from_ns > from_ns ? span.from_ns : from_ns;
	span.to_ns = span.to_ns < l->until_ns ? span.to_ns : l->until_ns;
	span_ns = span.to_ns > span.from_ns ? (double)(span.to_ns - span.from_ns) : 1;
	for (size_t i = 0; i < l->n_types; i++)
		l->types[i].cores /= span_ns;
	return 0;
}

static int compare_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t n = a_len < b_len ? a_len : b_len;
	int c = a && b ? memcmp(a, b, n) : 0;

	return c ? c : (a_len > b_len) - (a_len < b_len);
}

static int compare_service(const struct application_type *a, const struct application_type *b)
{
	return compare_text(a->service, a->service_len, b->service, b->service_len);
}

static int busiest_first(const void *a, const void *b)
{
	const struct application *x = a, *y = b;

	if (x->cores > y->cores || x->cores < y->cores)
		return x->cores > y->cores ? -1 : 1;
	return compare_service(x->types, y->types);
}

static void add_type(struct application *a, const struct application_type *t)
{
	if (a->n_types++ == 0) {
		a->types = t;
		a->first_seen_ns = t->first_seen_ns;
	}
	if (t->has_cores && (!a->has_cores || t->cores > a->cores)) {
		a->cores = t->cores;
		a->spark = t->spark;
	}
	a->has_cores |= t->has_cores;
	if (t->first_seen_ns < a->first_seen_ns)
		a->first_seen_ns = t->first_seen_ns;
	if (t->last_seen_ns > a->last_seen_ns)
		a->last_seen_ns = t->last_seen_ns;
}

/* Types are sorted by service, so those of one application are neighbours. */
static int group_types(struct application_list *l)
{
	l->items = calloc(l->n_types + 1, sizeof(*l->items));
	if (!l->items)
		return -ENOMEM;
	for (size_t i = 0; i < l->n_types; i++) {
		const struct application_type *t = &l->types[i];
		struct application *a = &l->items[l->n_items];

		if (i > 0 && compare_service(t, t - 1) == 0)
			a--;
		else
			l->n_items++;
		add_type(a, t);
	}
	qsort(l->items, l->n_items, sizeof(*l->items), busiest_first);
	return 0;
}

/* The steps of a range, of equal length but for the last one. */
struct steps {
	int64_t from_ns;
	int64_t until_ns; /* nothing counts from here on */
	int64_t len_ns;
	uint32_t n;
};

/* The time within a step between the first and the last profile of a type. */
static double covered_ns(const struct steps *s, uint32_t step, const struct application_type *t)
{
	int64_t begin = s->from_ns + step * s->len_ns, stop = begin + s->len_ns;

	begin = t->begin_ns > begin ? t->begin_ns : begin;
	stop = t->last_seen_ns < stop ? t->last_seen_ns : stop;
	stop = s->until_ns < stop ? s->until_ns : stop;
	return stop > begin ? (double)(stop - begin) : 1;
}

static void hold_values(double *values, const struct steps *s)
{
	uint32_t last = s->n;

	for (uint32_t i = 0; i < s->n; i++) {
		if (isnan(values[i]))
			continue;
		if (last < i && (i - last - 1) * s->len_ns <= TIMELINE_HOLD_NS)
			for (uint32_t k = last + 1; k < i; k++)
				values[k] = values[last];
		last = i;
	}
}

/* Reads the rest of a row: three arrays of equal length. t is NULL if the row has no place. */
static void read_spark(struct rowbinary_reader *r, const struct steps *s,
		       const struct application_type *t, double *values)
{
	uint32_t index[APPLICATION_MAX_POINTS];
	uint64_t n = rowbinary_get_count(r);

	for (uint64_t i = 0; i < n; i++) {
		uint64_t step = rowbinary_get_u64(r);

		if (i < s->n)
			index[i] = step < s->n ? (uint32_t)step : 0;
	}
	for (int column = 0; column < 2; column++) {
		uint64_t n_values = rowbinary_get_count(r);

		for (uint64_t i = 0; i < n_values; i++) {
			double v = rowbinary_get_f64(r);

			if (t && i < n && i < s->n && t->leaves_gaps == (column == 1))
				values[index[i]] = column == 1 ? v : v / covered_ns(s, index[i], t);
		}
	}
	if (t && t->leaves_gaps)
		hold_values(values, s);
}

/* Both are sorted by service and type. A type that only the second query saw is skipped. */
static int merge_sparks(struct application_list *l, const struct steps *s, struct bound_query *q,
			struct err *err)
{
	struct rowbinary_reader r;
	size_t at = 0;

	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r)) {
		size_t service_len, type_len;
		const char *service = rowbinary_get_string(&r, &service_len);
		const char *type = rowbinary_get_string(&r, &type_len);
		struct application_type *t = NULL;
		int c = -1;

		for (; at < l->n_types && c < 0; at++) {
			t = &l->types[at];
			c = compare_text(t->service, t->service_len, service, service_len);
			if (c == 0)
				c = compare_text(t->type, t->type_len, type, type_len);
		}
		if (c > 0)
			at--;
		if (c != 0 || !t->spark)
			t = NULL;
		read_spark(&r, s, t, t ? &l->sparks[t->spark - l->sparks] : NULL);
	}
	return bound_query_check(&r, err);
}

/* Places of n points for the types that count CPU time, without values. */
static int make_sparks(struct application_list *l, uint32_t n)
{
	size_t n_sparks = 0;

	for (size_t i = 0; i < l->n_types; i++)
		n_sparks += l->types[i].has_cores;
	l->sparks = calloc(n_sparks * n + 1, sizeof(*l->sparks));
	if (!l->sparks)
		return -ENOMEM;
	for (size_t i = 0; i < n_sparks * n; i++)
		l->sparks[i] = NAN;
	n_sparks = 0;
	for (size_t i = 0; i < l->n_types; i++) {
		if (l->types[i].has_cores)
			l->types[i].spark = &l->sparks[n_sparks++ * n];
	}
	l->n_points = n;
	return 0;
}

static int read_sparks(struct application_list *l, struct store *store,
		       const struct application_question *question, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	const struct query_filter *f = question->range;
	uint32_t n = question->n_points < APPLICATION_MAX_POINTS ? question->n_points
								 : APPLICATION_MAX_POINTS;
	struct steps steps = {f->from_ns, l->until_ns, (f->to_ns - f->from_ns + n - 1) / n, n};
	bool searched = question->search && question->search[0];
	int r;

	bound_query_init(&q, store, f, MAX_ANSWER_BYTES);
	bound_query_add_uint(&q, "step", (uint64_t)steps.len_ns);
	bound_query_add_uint(&q, "hold", TIMELINE_HOLD_NS);
	bound_query_add_uint(&q, "until", (uint64_t)l->until_ns);
	if (searched)
		bound_query_add_text(&q, "search", question->search);
	bound_query_add_sql(&q, f, SQL_SPARK);
	if (f->service)
		bound_query_add_sql(&q, f, SQL_OF_SERVICE);
	bound_query_add_sql(&q, f, SQL_SPARK_STEPS);
	if (searched)
		bound_query_add_sql(&q, f, SQL_SEARCH);
	bound_query_add_sql(&q, f, SQL_SPARK_GROUPED);
	r = make_sparks(l, n);
	if (r < 0)
		return r;
	r = bound_query_run(&q, err);
	/* too many services for sparklines are not too many for a list */
	if (r == -EFBIG)
		return 0;
	return r == 0 ? merge_sparks(l, &steps, &q, err) : r;
}

static int query_last_seen(struct store *store, const struct query_filter *f, int64_t *ret,
			   struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader reader;
	uint64_t n;
	int r = bound_query_ask(&q, store, f, MAX_LAST_SEEN_BYTES, SQL_LAST_SEEN, err);

	if (r < 0)
		return r;
	rowbinary_reader_init(&reader, q.answer.data, q.answer.len);
	n = rowbinary_get_u64(&reader);
	*ret = rowbinary_get_i64(&reader);
	if (n == 0)
		*ret = 0;
	return bound_query_check(&reader, err);
}

/* Where the agents have all sent their profiles; a range that has nothing before is whole. */
static int query_until(struct store *store, const struct query_filter *f, int64_t *ret_ns,
		       struct err *err)
{
	int64_t complete_ns;
	int r = timeline_query_complete_all(store, f, &complete_ns, err);

	*ret_ns = complete_ns > f->from_ns && complete_ns < f->to_ns ? complete_ns : f->to_ns;
	return r;
}

static int query_types(struct application_list *l, struct store *store,
		       const struct application_question *question, struct err *err)
{
	const struct query_filter *f = question->range;
	struct bound_query *q = &l->query;
	bool searched = question->search && question->search[0];
	int r;

	bound_query_init(q, store, f, MAX_ANSWER_BYTES);
	bound_query_add_uint(q, "hold", TIMELINE_HOLD_NS);
	bound_query_add_uint(q, "until", (uint64_t)l->until_ns);
	bound_query_add_uint(q, "limit", question->max ?: UINT32_MAX);
	if (searched)
		bound_query_add_text(q, "search", question->search);
	bound_query_add_sql(q, f, SQL_TYPES);
	if (f->service)
		bound_query_add_sql(q, f, SQL_OF_SERVICE);
	bound_query_add_sql(q, f, SQL_TYPES_HELD);
	if (f->service)
		bound_query_add_sql(q, f, SQL_OF_SERVICE);
	bound_query_add_sql(q, f, SQL_TYPES_KNOWN);
	if (searched)
		bound_query_add_sql(q, f, SQL_SEARCH);
	bound_query_add_sql(q, f, SQL_TYPES_GROUPED);
	r = bound_query_run(q, err);
	return r == 0 ? read_types(l, f->from_ns, err) : r;
}

int application_query(struct store *store, const struct application_question *question,
		      struct application_list *ret, struct err *err)
{
	const struct query_filter *range = question->range;
	const struct query_filter f = {
		.service = range->service && range->service[0] ? range->service : NULL,
		.from_ns = range->from_ns,
		.to_ns = range->to_ns,
		.ticket = range->ticket,
	};
	const struct application_question own = {&f, question->search, question->n_points,
						 question->max};
	struct application_list l = {0};
	int r = query_last_seen(store, &f, &l.last_seen_ns, err);

	if (r == 0)
		r = query_until(store, &f, &l.until_ns, err);
	if (r == 0)
		r = query_types(&l, store, &own, err);
	if (r == 0 && own.n_points > 0)
		r = read_sparks(&l, store, &own, err);
	if (r == 0)
		r = group_types(&l);
	if (r < 0) {
		application_list_fini(&l);
		return r;
	}
	*ret = l;
	return 0;
}

void application_list_fini(struct application_list *l)
{
	free(l->types);
	free(l->sparks);
	free(l->items);
	bound_query_fini(&l->query);
	l->types = NULL;
	l->sparks = NULL;
	l->items = NULL;
}

const char *application_namespace(const char *service, size_t len, size_t *ret_len)
{
	static const char *const prefixes[] = {"/k8s/", "/k8s-cronjob/"};

	*ret_len = 0;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t n = strlen(prefixes[i]);
		const char *end;

		if (len <= n || memcmp(service, prefixes[i], n) != 0)
			continue;
		end = memchr(service + n, '/', len - n);
		if (end)
			*ret_len = (size_t)(end - service) - n;
		return service + n;
	}
	return service;
}
