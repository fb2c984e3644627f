#include "cluster-agent/query/timeline_query.h"

#include <errno.h>

#include "cluster-agent/store/rowbinary.h"
#include "common/clock.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
#define WINDOW_BYTES 24u /* Int64 start, end, value */

/* ranges above this have their windows rounded */
#define EXACT_RANGE_NS (INT64_C(6) * 3600 * (int64_t)NS_PER_S)

#define SQL_WINDOWS                                                                            \
	"SELECT intDiv(toUnixTimestamp64Nano(Start), {grid:UInt64}) * toInt64({grid:UInt64}) " \
	"AS s, "                                                                               \
	"intDiv(toUnixTimestamp64Nano(End), {grid:UInt64}) * toInt64({grid:UInt64}) AS e, "    \
	"sum(Value) FROM profiling_samples WHERE ${which} GROUP BY s, e"

/*
 * On long ranges windows are rounded to a 16th of a step at most: hundreds of
 * hosts then share them, the answer stays small, and nobody can see it.
 */
static int64_t grid_ns(int64_t range_ns, int64_t step_ns)
{
	if (range_ns <= EXACT_RANGE_NS)
		return 1;
	return step_ns / 16 < range_ns / 5000 ? step_ns / 16 : range_ns / 5000;
}

static int read_windows(struct query *q, struct timeline_window **ret, size_t *ret_n,
			struct err *err)
{
	size_t max = q->answer.len / WINDOW_BYTES, n = 0;
	AUTO_FREE struct timeline_window *windows = calloc(max + 1, sizeof(*windows));
	struct rowbinary_reader r;

	if (!windows)
		return -ENOMEM;
	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r) && n < max) {
		windows[n].start_ns = rowbinary_get_i64(&r);
		windows[n].end_ns = rowbinary_get_i64(&r);
		windows[n].value = rowbinary_get_i64(&r);
		n++;
	}
	if (rowbinary_reader_finish(&r) < 0 || rowbinary_has_more(&r))
		return err_set(err, -EBADMSG, "unexpected answer of the store");
	*ret = TAKE_PTR(windows);
	*ret_n = n;
	return 0;
}

int timeline_query(struct store *store, const struct query_filter *f, struct timeline *t,
		   struct err *err)
{
	AUTO_FREE struct timeline_window *windows = NULL;
	CLEANUP(query_fini) struct query q;
	size_t n_windows = 0;
	int r = query_init(&q, f, MAX_ANSWER_BYTES);

	if (r == 0)
		r = query_add_uint(&q, "grid",
				   (uint64_t)grid_ns(f->to_ns - f->from_ns, t->step_ns));
	if (r == 0)
		r = query_add_sql(&q, f, SQL_WINDOWS);
	if (r == 0)
		r = query_run(&q, store, err);
	if (r == 0)
		r = read_windows(&q, &windows, &n_windows, err);
	if (r < 0)
		return r;
	timeline_fill(t, windows, n_windows);
	return 0;
}

int timeline_query_covered(struct store *store, const struct query_filter *f, double *ret_ns,
			   struct err *err)
{
	struct timeline_step step;
	struct timeline t = {
		.from_ns = f->from_ns,
		.step_ns = f->to_ns - f->from_ns,
		.n_steps = 1,
		.steps = &step,
	};
	int r = timeline_query(store, f, &t, err);

	if (r == 0)
		*ret_ns = step.covered_ns;
	return r;
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
	if (rowbinary_reader_finish(&r) < 0)
		return err_set(err, -EBADMSG, "unexpected answer of the store");
	return 0;
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
	r = timeline_query_covered(store, &all, &covered_ns, err);
	if (r < 0)
		return r;
	r = query_init(&is.query, &all, MAX_ANSWER_BYTES);
	if (r == 0)
		r = query_add_uint(&is.query, "max", TIMELINE_QUERY_MAX_INSTANCES);
	if (r == 0)
		r = query_add_sql(&is.query, &all,
				  "SELECT ${id} AS id, ${host} AS host, "
				  "sum(toFloat64(Value) * ${overlap_ns} / ");
	if (r == 0)
		r = query_add_sql(&is.query, &all, sum ? "${window_ns}" : "1");
	if (r == 0)
		r = query_add_sql(&is.query, &all,
				  ") AS v FROM profiling_samples WHERE ${which} "
				  "GROUP BY id, host ORDER BY v DESC, id, host "
				  "LIMIT {max:UInt64}");
	if (r == 0)
		r = query_run(&is.query, store, err);
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
	query_fini(&i->query);
	i->items = NULL;
}
