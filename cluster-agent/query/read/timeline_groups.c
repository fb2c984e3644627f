/*
 * The first query finds the largest values of the label; the second one returns windows as
 * timeline_query.c does, with the number of the series that they belong to. What the first one did
 * not name is series 0, "other", so no window is lost.
 */
#include "cluster-agent/query/read/timeline_groups.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/query/read/timeline_sql.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
#define WINDOW_BYTES 32u /* UInt64 series, Int64 start, end, value */
#define NAMES_BYTES ((size_t)256 << 10)

#define BY_LABEL "Labels[{by:String}]"
#define BY_ID "${id}"
#define BY_ID_AND_HOST "concat(${id}, '@', ${host})"

/* What series are made by. */
enum by {
	BY_OF_LABEL,
	BY_OF_ID,
	BY_OF_ID_AND_HOST,
	BY_MAX,
};

/* A constant per enum by, of a macro that makes SQL of an expression. */
#define FOR_EACH_BY(sql)                                       \
	{                                                      \
		sql(BY_LABEL), sql(BY_ID), sql(BY_ID_AND_HOST) \
	}

#define SQL_TOP_SUM(expression) "SELECT " expression " AS name, sum(toFloat64(Value)) AS v"
#define SQL_TOP_LEVEL(expression) \
	"SELECT " expression " AS name, sum(toFloat64(Value) * ${overlap_ns}) AS v"
#define SQL_TOP                            \
	" FROM ${samples} WHERE ${which} " \
	"GROUP BY name ORDER BY v DESC, name LIMIT {max:UInt64}"

/* indexOf() is 0 for what is not in the array. */
#define SERIES(expression) "indexOf({names:Array(String)}, " expression ") AS series"

#define SQL_PLAIN_BY(expression)                                                                   \
	"WITH windows AS (SELECT " SERIES(                                                         \
		expression) ", "                                                                   \
			    "toUnixTimestamp64Nano(Start) AS s, toUnixTimestamp64Nano(End) AS e, " \
			    "Value AS x FROM ${samples} WHERE ${which}) "
#define SQL_OWN_BY(expression)                                                                     \
	"WITH own AS (SELECT " SERIES(                                                             \
		expression) ", "                                                                   \
			    "tuple(${host}, Labels['port'], Labels['container.id']) AS key, "      \
			    "toUnixTimestamp64Nano(End) AS stop, toUnixTimestamp64Nano(Start) AS " \
			    "begin, "                                                              \
			    "if(stop > begin, begin, stop - {least:UInt64}) AS s, "                \
			    "sum(toFloat64(Value)) AS v "                                          \
			    "FROM ${samples} WHERE ${which_hold} GROUP BY series, key, stop, "     \
			    "begin), "
#define SQL_SERIES                                                                           \
	"SELECT series, " SQL_MERGED                                                         \
	" FROM windows GROUP BY series, intDiv(s, {grid:UInt64}), intDiv(e, {grid:UInt64}) " \
	"ORDER BY series"

struct groups {
	struct store *store;
	const struct query_filter *filter;
	const struct timeline_by *what;
	enum by by;
	struct arena arena;
	const char *names[TIMELINE_MAX_GROUPS];
	size_t n_names;
	struct bound_query query; /* of the windows */
};

static bool is_sum(const struct query_filter *f)
{
	return profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM;
}

static int read_names(struct bound_query *q, struct groups *g, struct err *err)
{
	struct rowbinary_reader r;

	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r) && g->n_names < TIMELINE_MAX_GROUPS) {
		size_t len;
		const char *name = rowbinary_get_string(&r, &len);

		rowbinary_get_f64(&r);
		if (rowbinary_reader_finish(&r) < 0)
			break;
		g->names[g->n_names] = arena_strndup(&g->arena, name, len);
		if (!g->names[g->n_names])
			return arena_error(&g->arena, len + 1);
		g->n_names++;
	}
	return bound_query_check(&r, err);
}

static int find_names(struct groups *g, struct err *err)
{
	static const char *const sums[BY_MAX] = FOR_EACH_BY(SQL_TOP_SUM);
	static const char *const levels[BY_MAX] = FOR_EACH_BY(SQL_TOP_LEVEL);
	const struct query_filter *f = g->filter;
	CLEANUP(bound_query_fini) struct bound_query q;
	int r = bound_query_init(&q, g->store, f, NAMES_BYTES);

	if (r == 0)
		r = bound_query_add_text(&q, "by", g->what->label);
	if (r == 0)
		r = bound_query_add_uint(&q, "max", TIMELINE_MAX_GROUPS);
	if (r == 0)
		r = bound_query_add_sql(&q, f, is_sum(f) ? sums[g->by] : levels[g->by]);
	if (r == 0)
		r = bound_query_add_sql(&q, f, SQL_TOP);
	if (r == 0)
		r = bound_query_run(&q, err);
	return r == 0 ? read_names(&q, g, err) : r;
}

static int add_windows(struct bound_query *q, const struct query_filter *f, enum by by)
{
	static const char *const plain[BY_MAX] = FOR_EACH_BY(SQL_PLAIN_BY);
	static const char *const own[BY_MAX] = FOR_EACH_BY(SQL_OWN_BY);
	int r = bound_query_add_uint(q, "sum", is_sum(f));

	if (r == 0 && profile_type_get(f->type)->node_agent)
		return bound_query_add_sql(q, f, plain[by]);
	if (r == 0)
		r = bound_query_add_uint(q, "hold", TIMELINE_HOLD_NS);
	if (r == 0)
		r = bound_query_add_uint(q, "least", is_sum(f) ? NS_PER_S : 1);
	if (r == 0)
		r = bound_query_add_sql(q, f, own[by]);
	return r == 0 ? bound_query_add_sql(q, f, SQL_HELD("series, ")) : r;
}

static int ask_windows(struct groups *g, struct err *err)
{
	const struct query_filter *f = g->filter;
	int64_t grid_ns = timeline_grid_ns(f->to_ns - f->from_ns, g->what->all->step_ns);
	struct bound_query *q = &g->query;
	int r = bound_query_add_text(q, "by", g->what->label);

	if (r == 0)
		r = bound_query_add_texts(q, "names", g->names, g->n_names);
	if (r == 0)
		r = bound_query_add_uint(q, "grid", (uint64_t)grid_ns);
	if (r == 0)
		r = add_windows(q, f, g->by);
	if (r == 0)
		r = bound_query_add_sql(q, f, SQL_SERIES);
	return r == 0 ? bound_query_run(q, err) : r;
}

/* name is NULL for "other". */
static void put_series(struct json_writer *w, const char *name, const struct timeline_by *what,
		       const struct timeline *t)
{
	const char *shown = name ? name : "other";

	json_open(w, '{');
	json_key(w, "name");
	json_put_string(w, shown, strlen(shown));
	if (!name) {
		json_key(w, "other");
		json_put_bool(w, true);
	}
	json_key(w, "values");
	json_open(w, '[');
	for (uint32_t i = 0; i < t->n_steps; i++) {
		const struct timeline_step *s = &t->steps[i];
		double covered_ns = what->all->steps[i].covered_ns;
		double sum = s->covered_ns > 0 ? s->value * s->covered_ns : 0;

		json_put_double(w, covered_ns > 0 ? sum / covered_ns / what->divisor : NAN);
	}
	json_close(w, ']');
	json_close(w, '}');
}

/* Rows are sorted by series. n gets the number of windows of each; windows has room for all. */
static int read_windows(const struct groups *g, struct timeline_window *windows,
			size_t n[static TIMELINE_MAX_GROUPS + 1], struct err *err)
{
	struct rowbinary_reader r;

	rowbinary_reader_init(&r, g->query.answer.data, g->query.answer.len);
	for (size_t i = 0; rowbinary_has_more(&r); i++) {
		uint64_t series = rowbinary_get_u64(&r);

		windows[i].start_ns = rowbinary_get_i64(&r);
		windows[i].end_ns = rowbinary_get_i64(&r);
		windows[i].value = rowbinary_get_i64(&r);
		if (rowbinary_reader_finish(&r) < 0 || series > g->n_names)
			return err_set(err, -EBADMSG, "unexpected answer of the store");
		n[series]++;
	}
	return 0;
}

static int write_series(struct json_writer *w, const struct groups *g, struct err *err)
{
	size_t n[TIMELINE_MAX_GROUPS + 1] = {0}, max = g->query.answer.len / WINDOW_BYTES + 1;
	AUTO_FREE struct timeline_window *windows = calloc(max, sizeof(*windows));
	struct timeline one = *g->what->all;
	AUTO_FREE struct timeline_step *steps = calloc(one.n_steps, sizeof(*steps));
	size_t first;
	int r;

	if (!windows || !steps)
		return -ENOMEM;
	r = read_windows(g, windows, n, err);
	if (r < 0)
		return r;
	one.steps = steps;
	first = n[0];
	for (size_t k = 1; k <= g->n_names; k++) {
		timeline_fill(&one, windows + first, n[k]);
		put_series(w, g->names[k - 1], g->what, &one);
		first += n[k];
	}
	if (n[0] > 0) {
		timeline_fill(&one, windows, n[0]);
		put_series(w, NULL, g->what, &one);
	}
	return 0;
}

int timeline_groups_write(struct json_writer *w, struct store *store, const struct query_filter *f,
			  const struct timeline_by *by, struct err *err)
{
	struct groups g = {
		.store = store,
		.filter = f,
		.what = by,
		.by = strcmp(by->label, TIMELINE_BY_INSTANCE) != 0 ? BY_OF_LABEL
		      : by->with_host                              ? BY_OF_ID_AND_HOST
								   : BY_OF_ID,
	};
	int r = bound_query_init(&g.query, store, f, MAX_ANSWER_BYTES);

	arena_init(&g.arena, NAMES_BYTES);
	if (r == 0)
		r = find_names(&g, err);
	if (r == 0)
		r = ask_windows(&g, err);
	if (r == 0)
		r = write_series(w, &g, err);
	arena_fini(&g.arena);
	bound_query_fini(&g.query);
	return r;
}
