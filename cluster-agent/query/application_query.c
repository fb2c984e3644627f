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
 */
#include "cluster-agent/query/application_query.h"

#include <errno.h>

#include "cluster-agent/query/profile_types.h"
#include "cluster-agent/query/timeline_query.h"
#include "cluster-agent/store/rowbinary.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
#define MAX_LAST_SEEN_BYTES ((size_t)4096)
#define MIN_ROW_BYTES 34u /* two empty strings and four numbers of 8 bytes */

/*
 * held is v as if each profile of an instance lasted until the next one began. It is estimated:
 * the n profiles of an instance are taken to begin at equal distances, and each stands for that
 * distance, but for {hold} beyond its end at most.
 */
#define SQL_TYPES                                                                               \
	"WITH instances AS (SELECT ServiceName, Type, "                                         \
	"toUnixTimestamp64Nano(max(End)) AS stop, toUnixTimestamp64Nano(min(Start)) AS begin, " \
	"sum(toFloat64(Value) * ${overlap_ns} / ${window_ns}) AS v, "                           \
	"sum(toFloat64(${overlap_ns})) AS own, count() AS n, "                                  \
	"toFloat64(toUnixTimestamp64Nano(max(Start)) - begin) * n / greatest(n - 1, 1) "        \
	"AS reach FROM ${quality} WHERE ${range} "                                              \
	"GROUP BY ServiceName, Type, Host, Instance), "                                         \
	"held AS (SELECT ServiceName, Type, stop, begin, v, "                                   \
	"toFloat64(max(stop) OVER () - min(begin) OVER ()) AS span, "                           \
	"v * greatest(least(reach, own + n * {hold:UInt64}, span, toFloat64({to:Int64} - "      \
	"{from:Int64})) "                                                                       \
	"/ own, 1) AS held FROM instances) "                                                    \
	"SELECT ServiceName, Type, max(stop), min(begin), sum(v), sum(held) "                   \
	"FROM held GROUP BY ServiceName, Type ORDER BY ServiceName, Type"
#define SQL_LAST_SEEN "SELECT count(), toUnixTimestamp64Nano(max(LastSeen)) FROM ${profiles}"

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
	t->has_cores = strcmp(known->category, "cpu") == 0 &&
		       strcmp(profile_type_unit(name), "nanoseconds") == 0;
	if (t->has_cores)
		t->cores = known->node_agent ? cpu_ns : held_ns;
}

static void read_type(struct rowbinary_reader *r, struct application_type *t, struct span *span)
{
	double cpu_ns, held_ns;
	int64_t start_ns;

	t->service = rowbinary_get_string(r, &t->service_len);
	t->type = rowbinary_get_string(r, &t->type_len);
	t->last_seen_ns = rowbinary_get_i64(r);
	start_ns = rowbinary_get_i64(r);
	cpu_ns = rowbinary_get_f64(r);
	held_ns = rowbinary_get_f64(r);
	set_cpu_time(t, cpu_ns, held_ns);
	if (start_ns < span->from_ns)
		span->from_ns = start_ns;
	if (t->last_seen_ns > span->to_ns)
		span->to_ns = t->last_seen_ns;
}

static int read_types(struct application_list *l, int64_t from_ns, int64_t to_ns, struct err *err)
{
	struct span span = {.from_ns = to_ns, .to_ns = from_ns};
	size_t max = l->query.answer.len / MIN_ROW_BYTES + 1;
	struct rowbinary_reader r;
	double span_ns;
	int e;

	l->types = calloc(max, sizeof(*l->types));
	if (!l->types)
		return -ENOMEM;
	rowbinary_reader_init(&r, l->query.answer.data, l->query.answer.len);
	while (rowbinary_has_more(&r) && l->n_types < max)
		read_type(&r, &l->types[l->n_types++], &span);
	e = bound_query_check(&r, err);
	if (e < 0)
		return e;
	span.from_ns = span.from_ns > from_ns ? span.from_ns : from_ns;
	span.to_ns = span.to_ns < to_ns ? span.to_ns : to_ns;
	span_ns = span.to_ns > span.from_ns ? (double)(span.to_ns - span.from_ns) : 1;
	for (size_t i = 0; i < l->n_types; i++)
		l->types[i].cores /= span_ns;
	return 0;
}

static int compare_service(const struct application_type *a, const struct application_type *b)
{
	size_t n = a->service_len < b->service_len ? a->service_len : b->service_len;
	int c = a->service && b->service ? memcmp(a->service, b->service, n) : 0;

	return c ? c : (a->service_len > b->service_len) - (a->service_len < b->service_len);
}

static int busiest_first(const void *a, const void *b)
{
	const struct application *x = a, *y = b;

	if (x->cores > y->cores || x->cores < y->cores)
		return x->cores > y->cores ? -1 : 1;
	return compare_service(x->types, y->types);
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
		if (a->n_types++ == 0)
			a->types = t;
		a->has_cores |= t->has_cores;
		a->cores = t->cores > a->cores ? t->cores : a->cores;
		if (t->last_seen_ns > a->last_seen_ns)
			a->last_seen_ns = t->last_seen_ns;
	}
	qsort(l->items, l->n_items, sizeof(*l->items), busiest_first);
	return 0;
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

int application_query(struct store *store, const struct query_filter *range,
		      struct application_list *ret, struct err *err)
{
	const struct query_filter f = {
		.from_ns = range->from_ns,
		.to_ns = range->to_ns,
		.ticket = range->ticket,
	};
	struct application_list l = {0};
	int r = query_last_seen(store, &f, &l.last_seen_ns, err);

	if (r < 0)
		return r;
	r = bound_query_init(&l.query, store, &f, MAX_ANSWER_BYTES);
	if (r == 0)
		r = bound_query_add_uint(&l.query, "hold", TIMELINE_HOLD_NS);
	if (r == 0)
		r = bound_query_add_sql(&l.query, &f, SQL_TYPES);
	if (r == 0)
		r = bound_query_run(&l.query, err);
	if (r == 0)
		r = read_types(&l, f.from_ns, f.to_ns, err);
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
	free(l->items);
	bound_query_fini(&l->query);
	l->types = NULL;
	l->items = NULL;
}
