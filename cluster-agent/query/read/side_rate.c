/*
 * A timeline divides the sum over instances by the time that any of them covers. Their profiles
 * end at different seconds, so at the ends of a range some are covered and others not yet, and the
 * last minute looks like a drop. On a graph nobody minds, but two sides differ in it by one or two
 * per cent, as one of them mostly ends at present.
 *
 * So what an instance lacks at the ends is added, as if it had gone on as before. That is by
 * instance, because one that started in the middle of the range lacks nothing: a service that has
 * doubled its instances uses twice as much.
 *
 * profiling_quality has a row per profile with its instance. Where it lacks some, which a Coroot
 * server has written, the factor is that of the others.
 */
#include "cluster-agent/query/read/side_rate.h"

#include <errno.h>

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/profile_source.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/timeline_sql.h"
#include "cluster-agent/store/rowbinary.h"

#define MAX_ANSWER_BYTES ((size_t)16 << 20)
#define PART_BYTES 40u

/* Profiles by instance, of which those with gaps between them are extended by SQL_HELD. */
#define SQL_OWN                                                                                   \
	"WITH own AS (SELECT tuple(Host, Instance) AS key, " SCHEMA_END " AS stop, " SCHEMA_START \
	" AS begin, "                                                                             \
	"if(stop > begin, begin, stop - {least:UInt64}) AS s, Value AS v FROM "                   \
	"${quality} WHERE " PROFILE_OF_TYPE " AND "
#define SQL_OWN_PLAIN SQL_OWN "${range}"
#define SQL_OWN_HELD SQL_OWN "${hold_range}"
#define SQL_OF_SETS " AND " PROFILE_OF_SETS
#define SQL_WINDOWS "windows AS (SELECT key, s, stop AS e, toFloat64(v) AS x FROM own) "
#define SQL_PARTS                                                                      \
	"SELECT sum(x * overlap / (e - s)), toInt64(sum(overlap)), min(a), max(b), "   \
	"max(toInt64(e - s)) FROM (SELECT key, x, s, e, greatest(s, {from:Int64}) "    \
	"AS a, least(e, {to:Int64}) AS b, b - a AS overlap FROM windows WHERE b > a) " \
	"GROUP BY key"

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* As in timeline_tail.c: an instance that lacks more is not waited for. */
static int64_t missing(int64_t gap_ns, int64_t longest_ns)
{
	return gap_ns / 3 <= longest_ns / 2 ? gap_ns : 0;
}

double side_rate_edge_factor(const struct side_part *parts, size_t n)
{
	int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
	double has = 0, used = 0;

	for (size_t i = 0; i < n; i++) {
		begin_ns = min64(begin_ns, parts[i].begin_ns);
		end_ns = max64(end_ns, parts[i].end_ns);
	}
	for (size_t i = 0; i < n; i++) {
		const struct side_part *p = &parts[i];
		double lacks = (double)missing(p->begin_ns - begin_ns, p->longest_ns) +
			       (double)missing(end_ns - p->end_ns, p->longest_ns);
		double covered = (double)p->covered_ns;

		if (p->covered_ns <= 0)
			continue;
		has += p->value;
		used += p->value * (1 + (lacks < covered ? lacks : covered) / covered);
	}
	return has > 0 ? used / has : 1;
}

static int read_parts(const struct bound_query *q, double *ret, struct err *err)
{
	size_t max = q->answer.len / PART_BYTES, n = 0;
	AUTO_FREE struct side_part *parts = calloc(max + 1, sizeof(*parts));
	struct rowbinary_reader r;

	if (!parts)
		return -ENOMEM;
	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	/* a row that is cut off is one more than max: it ends in an error of the reader */
	for (; rowbinary_has_more(&r) && n <= max; n++) {
		parts[n].value = rowbinary_get_f64(&r);
		parts[n].covered_ns = rowbinary_get_i64(&r);
		parts[n].begin_ns = rowbinary_get_i64(&r);
		parts[n].end_ns = rowbinary_get_i64(&r);
		parts[n].longest_ns = rowbinary_get_i64(&r);
	}
	*ret = side_rate_edge_factor(parts, n);
	return bound_query_check(&r, err);
}

static bool is_sum(const struct query_filter *f)
{
	return profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM;
}

static int query_factor(struct store *store, const struct query_filter *f, double *ret,
			struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q = {0};
	const bool held = !profile_type_get(f->type)->node_agent;
	int r;

	*ret = 1;
	/* of a longer range, a profile is next to nothing */
	if (!is_sum(f) || f->to_ns - f->from_ns > EXACT_RANGE_NS)
		return 0;
	bound_query_init(&q, store, f, MAX_ANSWER_BYTES);
	profile_source_bind(&q, f);
	bound_query_add_uint(&q, "least", NS_PER_S);
	bound_query_add_uint(&q, "sum", 1);
	bound_query_add_uint(&q, "hold", TIMELINE_HOLD_NS);
	bound_query_add_sql(&q, f, held ? SQL_OWN_HELD : SQL_OWN_PLAIN);
	if (query_filter_is_set(f))
		bound_query_add_sql(&q, f, SQL_OF_SETS);
	bound_query_addf(&q, "), ");
	bound_query_add_sql(&q, f, held ? SQL_HELD("key, ") SQL_PARTS : SQL_WINDOWS SQL_PARTS);
	r = bound_query_run(&q, err);
	return r == 0 ? read_parts(&q, ret, err) : r;
}

int side_rate_query(struct store *store, const struct query_filter *f, struct timeline_rate *ret,
		    struct err *err)
{
	double factor = 1;
	int r = timeline_query_rate(store, f, ret, err);

	if (r == 0 && ret->value > 0)
		r = query_factor(store, f, &factor, err);
	if (r == 0)
		ret->value *= factor;
	return r;
}

int side_time_add(struct side_time *t, struct store *store, const struct query_filter *f,
		  int64_t total, struct err *err)
{
	struct timeline_rate rate = {0};
	int r = side_rate_query(store, f, &rate, err);

	if (r < 0)
		return r;
	if (rate.covered_ns > t->covered_ns)
		t->covered_ns = rate.covered_ns;
	if (is_sum(f)) {
		t->total += (double)total;
		t->rate += rate.value / (double)NS_PER_S;
	}
	return 0;
}

int64_t side_time_ns(const struct side_time *t)
{
	double ns = t->total > 0 && t->rate > 0 ? t->total / t->rate : t->covered_ns;

	return ns < 0x1p62 ? (int64_t)(ns + 0.5) : 0;
}
