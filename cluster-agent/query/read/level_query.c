/*
 * A level is a sum over instances and a mean over time. Instances come and go: during a rollout,
 * pods of both releases have profiles in a range, and a plain sum would count them as if all had
 * run at once. So an instance counts with the mean of its profiles for the time from its first to
 * its last one and a usual distance between two more, of the same time for all instances together.
 * What it lacks at the ends of that, as profiles of each come at their own second, it is given.
 * A timeline holds each value until the next one, which is closer to the truth, and too slow for
 * all applications.
 */
#include "cluster-agent/query/read/level_query.h"

#include <errno.h>

#include "common/system/clock.h"

#define MAX_ANSWER_BYTES ((size_t)4 << 20)
#define MIN_ROW_BYTES 19u /* two empty strings, two numbers of 8 bytes and one of 1 byte */
#define DAY_NS (INT64_C(86400) * (int64_t)NS_PER_S)
#define USUAL_GAP "60000000000." /* ns between two profiles, if none has a second one */

/* One side, of which `a` and `b` are the borders. */
#define SQL_SIDE                                                                              \
	"SELECT ServiceName, Type, sum(level * (last - first + gap + "                        \
	"if(first - begin <= 1.5 * gap, first - begin, 0) + "                                 \
	"if(stop - last <= 1.5 * gap, stop - last, 0))) / "                                   \
	"(any(stop) - any(begin) + max(gap)) AS v FROM ("                                     \
	"SELECT *, multiIf(own > 0, own, other > 0, other, " USUAL_GAP ") AS gap FROM ("      \
	"SELECT *, max(own) OVER w AS other, min(first) OVER w AS begin, max(last) OVER w "   \
	"AS stop FROM ("                                                                      \
	"SELECT ServiceName, Type, avg(Value) AS level, "                                     \
	"toUnixTimestamp64Nano(min(End)) AS first, toUnixTimestamp64Nano(max(End)) AS last, " \
	"(last - first) / greatest(count() - 1, 1) AS own FROM ${quality} "                   \
	"WHERE Type IN (${level_types}) AND Start < fromUnixTimestamp64Nano(b) "              \
	"AND End > fromUnixTimestamp64Nano(a) GROUP BY ServiceName, Type, Host, Instance) "   \
	"WINDOW w AS (PARTITION BY ServiceName, Type)))"                                      \
	" GROUP BY ServiceName, Type)"
/* Sides: 0 the range, 1 a day before, 2 right before. */
#define SQL_LEVELS                                                      \
	"SELECT ServiceName, Type, now, base, before FROM ("            \
	"SELECT ServiceName, Type, endsWith(Type, ':bytes') AS bytes, " \
	"maxIf(v, side = 0) AS now, countIf(side = 1) = 0 AS before, "  \
	"if(before, maxIf(v, side = 2), maxIf(v, side = 1)) AS base FROM ("
#define SQL_LEVELS_END                                                                         \
	") GROUP BY ServiceName, Type HAVING countIf(side = 0) > 0 AND countIf(side > 0) > 0 " \
	"AND now > base ORDER BY now - base DESC LIMIT 1 BY ServiceName, bytes) "              \
	"ORDER BY bytes DESC, now - base DESC, ServiceName LIMIT {limit:UInt64} BY bytes"

static void add_sides(struct bound_query *q, const struct query_filter *f, const int64_t *earlier,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const long long from = f->from_ns - earlier[i], to = f->to_ns - earlier[i];

		bound_query_addf(q,
				 "%sSELECT %zu AS side, ServiceName, Type, v FROM ("
				 "WITH toInt64(%lld) AS a, toInt64(%lld) AS b ",
				 i > 0 ? " UNION ALL " : "", i, from, to);
		bound_query_add_sql(q, f, SQL_SIDE);
	}
}

static int read_levels(struct level_list *l, struct err *err)
{
	struct rowbinary_reader r;
	size_t max = l->query.answer.len / MIN_ROW_BYTES + 1;

	l->items = calloc(max, sizeof(*l->items));
	if (!l->items)
		return -ENOMEM;
	rowbinary_reader_init(&r, l->query.answer.data, l->query.answer.len);
	while (rowbinary_has_more(&r) && l->n_items < max) {
		struct level_growth *g = &l->items[l->n_items++];

		g->service = rowbinary_get_string(&r, &g->service_len);
		g->type = rowbinary_get_string(&r, &g->type_len);
		g->value = rowbinary_get_f64(&r);
		g->base = rowbinary_get_f64(&r);
		g->before = rowbinary_get_u8(&r) != 0;
	}
	return bound_query_check(&r, err);
}

int level_query(struct store *store, const struct query_filter *f, uint32_t limit,
		struct level_list *ret, struct err *err)
{
	const int64_t length_ns = f->to_ns - f->from_ns;
	const int64_t shift_ns = length_ns > DAY_NS ? length_ns : DAY_NS;
	const int64_t earlier[] = {0, shift_ns, length_ns};
	struct level_list l = {.base_from_ns = f->from_ns - shift_ns,
			       .base_to_ns = f->to_ns - shift_ns};
	int r;

	bound_query_init(&l.query, store, f, MAX_ANSWER_BYTES);
	bound_query_add_uint(&l.query, "limit", limit);
	bound_query_add_sql(&l.query, f, SQL_LEVELS);
	add_sides(&l.query, f, earlier, ARRAY_SIZE(earlier));
	bound_query_add_sql(&l.query, f, SQL_LEVELS_END);
	r = bound_query_run(&l.query, err);
	if (r == 0)
		r = read_levels(&l, err);
	if (r < 0) {
		level_list_fini(&l);
		return r;
	}
	*ret = l;
	return 0;
}

void level_list_fini(struct level_list *l)
{
	free(l->items);
	l->items = NULL;
	bound_query_fini(&l->query);
}
