/*
 * The first query finds the largest values of the label; the second one returns windows as
 * timeline_query.c does, with the number of the series that they belong to. What the first one did
 * not name is series 0, "other", so no window is lost. Windows by hour are enough for the timeline
 * of all as well.
 */
#include "cluster-agent/query/read/timeline_groups.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/query/read/profile_source.h"
#include "cluster-agent/query/read/timeline_hours.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/query/read/timeline_sql.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
#define WINDOW_BYTES 32u /* UInt64 series, Int64 start, end, Float64 value */
#define NAMES_BYTES ((size_t)256 << 10)

#define BY_LABEL "${by}"
#define BY_ID "${id}"
#define BY_ID_AND_HOST "concat(${id}, '@', ${host})"

/* What the series are grouped by. */
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

/* The series of a profile is looked up by its set of labels. */
#define SETS_OF(expression)                                                \
	"WITH (SELECT (groupArray(LabelSet), groupArray(toUInt64(indexOf(" \
	"{names:Array(String)}, " expression ")))) FROM " PROFILE_SETS ") AS sets, "
/* Where the sets are few enough to be named. */
#define THESE_SETS "WITH ({sets:Array(UInt64)}, {series:Array(UInt64)}) AS sets, "
#define SERIES_OF "toUInt64(transform(LabelSet, sets.1, sets.2, toUInt64(0))) AS series, "
#define WINDOWS_OF                                                                  \
	"windows AS (SELECT " SERIES_OF SCHEMA_START " AS s, " SCHEMA_END " AS e, " \
	"Value AS x FROM ${quality} WHERE " PROFILE_OF_TYPE " AND ${range}"
#define OWN_OF                                                                        \
	"own AS (SELECT " SERIES_OF "tuple(Host, Instance) AS key, " SCHEMA_END       \
	" AS stop, " SCHEMA_START " AS begin, "                                       \
	"if(stop > begin, begin, stop - {least:UInt64}) AS s, toFloat64(Value) AS v " \
	"FROM ${quality} WHERE " PROFILE_OF_TYPE " AND ${hold_range}"
#define SQL_PLAIN_OF(expression) SETS_OF(expression) WINDOWS_OF
#define SQL_OWN_OF(expression) SETS_OF(expression) OWN_OF
#define SQL_OF_SETS " AND " PROFILE_OF_SETS

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
			    "tuple(${id}, ${host}, Labels['port'], Labels['container.id']) AS "    \
			    "key, "                                                                \
			    "toUnixTimestamp64Nano(End) AS stop, toUnixTimestamp64Nano(Start) AS " \
			    "begin, "                                                              \
			    "if(stop > begin, begin, stop - {least:UInt64}) AS s, "                \
			    "sum(toFloat64(Value)) AS v "                                          \
			    "FROM ${samples} WHERE ${which_hold} GROUP BY series, key, stop, "     \
			    "begin), "
#define SQL_SERIES "SELECT series, " SQL_MERGED SQL_FROM_WINDOWS("series, ") " ORDER BY series"

struct timeline_groups {
	struct store *store;
	struct query_filter filter;
	struct profile_source source; /* if the caller has none */
	struct label_sets *sets;      /* if it is whole, and what each series has of them */
	struct label_sum *sums;
	const struct timeline_by *what;
	enum by by;
	bool whole; /* profiling_quality has all profiles with their labels */
	bool hours; /* and windows are those of timeline_hours.h */
	bool is_asked;
	struct arena arena;
	const char *names[TIMELINE_MOST_GROUPS + 1];
	size_t n_names;
	size_t max_names;
	struct bound_query query; /* of the windows */
};

static bool is_sum(const struct query_filter *f)
{
	return profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM;
}

static int read_names(struct bound_query *q, struct timeline_groups *g, struct err *err)
{
	struct rowbinary_reader r;

	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r) && g->n_names < ARRAY_SIZE(g->names)) {
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

static int ask_names(struct timeline_groups *g, struct err *err)
{
	static const char *const sums[BY_MAX] = FOR_EACH_BY(SQL_TOP_SUM);
	static const char *const levels[BY_MAX] = FOR_EACH_BY(SQL_TOP_LEVEL);
	const struct query_filter *f = &g->filter;
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	bound_query_init(&q, g->store, f, NAMES_BYTES);
	bound_query_bind_by(&q, g->what->label, g->what->labels, g->what->n_labels);
	bound_query_add_uint(&q, "max", g->max_names);
	bound_query_add_sql(&q, f, is_sum(f) ? sums[g->by] : levels[g->by]);
	bound_query_add_sql(&q, f, SQL_TOP);
	r = bound_query_run(&q, err);
	return r == 0 ? read_names(&q, g, err) : r;
}

static enum label_sum_by sum_by(const struct timeline_groups *g)
{
	return g->by == BY_OF_LABEL ? LABEL_SUM_BY_NAME
	       : g->by == BY_OF_ID  ? LABEL_SUM_BY_ID
				    : LABEL_SUM_BY_ID_AND_HOST;
}

/* The name of a series: "name", or "id@host". */
static const char *join_name(struct timeline_groups *g, const struct label_sum *s)
{
	bool with_host = g->by == BY_OF_ID_AND_HOST;
	char *text = arena_alloc(&g->arena, s->name.len + s->host.len + 2);

	if (!text)
		return NULL;
	memcpy(text, s->name.text, s->name.len);
	text[s->name.len] = with_host ? '@' : '\0';
	memcpy(text + s->name.len + with_host, s->host.text, s->host.len);
	text[s->name.len + with_host + s->host.len] = '\0';
	return text;
}

static int take_names(struct timeline_groups *g, struct err *err)
{
	size_t n;
	int r = label_sets_find_values(g->store, &g->filter, g->sets, err);

	if (r == 0)
		r = label_sets_sum(g->sets, &g->filter, sum_by(g), &g->sums, &n);
	for (size_t i = 0; r == 0 && i < n && i < g->max_names; i++) {
		const struct label_sum *s = &g->sums[i];

		g->names[i] = join_name(g, s);
		r = g->names[i] ? 0 : arena_error(&g->arena, s->name.len + s->host.len + 2);
		g->n_names += r == 0;
	}
	return r;
}

/* Windows of profiles, held or not. */
static void add_profiles(struct bound_query *q, const struct timeline_groups *g, bool held)
{
	static const char *const plain[BY_MAX] = FOR_EACH_BY(SQL_PLAIN_BY);
	static const char *const own[BY_MAX] = FOR_EACH_BY(SQL_OWN_BY);
	static const char *const plain_of[BY_MAX] = FOR_EACH_BY(SQL_PLAIN_OF);
	static const char *const own_of[BY_MAX] = FOR_EACH_BY(SQL_OWN_OF);
	const struct query_filter *f = &g->filter;

	if (!g->whole) {
		bound_query_add_sql(q, f, held ? own[g->by] : plain[g->by]);
		return;
	}
	profile_source_bind(q, f);
	bound_query_add_sql(q, f, held ? own_of[g->by] : plain_of[g->by]);
	if (query_filter_is_set(f))
		bound_query_add_sql(q, f, SQL_OF_SETS);
	bound_query_addf(q, held ? "), " : ") ");
}

static void add_windows(struct bound_query *q, const struct timeline_groups *g)
{
	const struct query_filter *f = &g->filter;

	bound_query_add_uint(q, "sum", is_sum(f));
	if (profile_type_get(f->type)->node_agent) {
		add_profiles(q, g, false);
		return;
	}
	bound_query_add_uint(q, "hold", TIMELINE_HOLD_NS);
	bound_query_add_uint(q, "least", is_sum(f) ? NS_PER_S : 1);
	add_profiles(q, g, true);
	bound_query_add_sql(q, f, SQL_HELD("series, "));
}

/* The number of the series of a set; 0: all others. */
static uint64_t series_of(const struct timeline_groups *g, const struct label_set *set)
{
	for (size_t i = 0; i < g->n_names; i++)
		if (label_sum_has(&g->sums[i], set, sum_by(g)))
			return i + 1;
	return 0;
}

/* Binds the series of each set, in the order of hour_sets_of(). */
static int add_series(struct bound_query *q, const struct timeline_groups *g, size_t n)
{
	AUTO_FREE uint64_t *series = calloc(n, sizeof(*series));
	size_t k = 0;

	if (!series)
		return -ENOMEM;
	for (size_t i = 0; i < g->sets->n_items && k < n; i++)
		if (label_set_is_of(&g->sets->items[i], &g->filter))
			series[k++] = series_of(g, &g->sets->items[i]);
	bound_query_add_uints(q, "series", series, n);
	return 0;
}

/* Series are exact for any gaps, as the time that their windows cover does not count. */
static int add_hours(struct bound_query *q, const struct timeline_groups *g)
{
	static const char *const sets_of[BY_MAX] = FOR_EACH_BY(SETS_OF);
	CLEANUP(hour_sets_fini) struct hour_sets sets;
	int r = hour_sets_of(g->sets, &g->filter, &sets);

	if (r == 0 && sets.is_list)
		r = add_series(q, g, sets.n);
	if (r < 0)
		return r;
	bound_query_add_uint(q, "sum", is_sum(&g->filter));
	bound_query_add_sql(q, &g->filter, sets.is_list ? THESE_SETS : sets_of[g->by]);
	timeline_hours_add(q, &g->filter, &sets, g->what->all, SERIES_OF);
	return 0;
}

static void add_all(struct bound_query *q, const struct timeline_groups *g)
{
	const struct query_filter *f = &g->filter;

	timeline_bind_grid(q, f->to_ns - f->from_ns, g->what->all);
	add_windows(q, g);
	bound_query_add_sql(q, f, SQL_SERIES);
}

static int ask_windows(struct timeline_groups *g, struct err *err)
{
	struct bound_query *q = &g->query;
	int r;

	bound_query_bind_by(q, g->what->label, g->what->labels, g->what->n_labels);
	bound_query_add_texts(q, "names", g->names, g->n_names);
	if (g->hours) {
		r = add_hours(q, g);
		if (r < 0)
			return r;
	} else {
		add_all(q, g);
	}
	return bound_query_run(q, err);
}

/* Rows are sorted by series. n gets the number of windows of each; windows has room for all. */
static int read_windows(const struct timeline_groups *g, struct timeline_window *windows, size_t *n,
			struct err *err)
{
	struct rowbinary_reader r;

	rowbinary_reader_init(&r, g->query.answer.data, g->query.answer.len);
	for (size_t i = 0; rowbinary_has_more(&r); i++) {
		uint64_t series = rowbinary_get_u64(&r);

		windows[i].start_ns = rowbinary_get_i64(&r);
		windows[i].end_ns = rowbinary_get_i64(&r);
		windows[i].value = rowbinary_get_f64(&r);
		if (g->hours) {
			rowbinary_get_u8(&r);
			rowbinary_get_i64(&r);
		}
		if (rowbinary_reader_finish(&r) < 0 || series > g->n_names)
			return err_set(err, -EBADMSG, "unexpected answer of the store");
		n[series]++;
	}
	return 0;
}

/* Where series go, with what is needed for one at a time. */
struct delivery {
	timeline_group_fn fn;
	void *ctx;
	struct timeline one;
	double *values;
};

/* name is NULL for all others. */
static int deliver(const struct timeline_groups *g, struct delivery *d, const char *name,
		   struct timeline_window *windows, size_t n)
{
	const struct timeline *all = g->what->all;

	timeline_fill(&d->one, windows, n);
	for (uint32_t i = 0; i < all->n_steps; i++) {
		const struct timeline_step *s = &d->one.steps[i];
		double covered_ns = all->steps[i].covered_ns;
		double sum = s->covered_ns > 0 ? s->value * s->covered_ns : 0;

		d->values[i] = covered_ns > 0 ? sum / covered_ns / g->what->divisor : NAN;
	}
	return d->fn(d->ctx, &(struct timeline_group){name, d->values});
}

static int deliver_all(const struct timeline_groups *g, timeline_group_fn fn, void *ctx,
		       struct err *err)
{
	size_t max = g->query.answer.len / WINDOW_BYTES + 1;
	AUTO_FREE struct timeline_window *windows = calloc(max, sizeof(*windows));
	AUTO_FREE size_t *n = calloc(g->n_names + 1, sizeof(*n));
	uint32_t n_steps = g->what->all->n_steps;
	AUTO_FREE struct timeline_step *steps = calloc(n_steps, sizeof(*steps));
	AUTO_FREE double *values = calloc(n_steps, sizeof(*values));
	struct delivery d = {.fn = fn, .ctx = ctx, .one = *g->what->all, .values = values};
	struct timeline_window *next = windows;
	int r;

	if (!windows || !n || !steps || !values)
		return -ENOMEM;
	r = read_windows(g, windows, n, err);
	d.one.steps = steps;
	next += n[0];
	for (size_t k = 1; r == 0 && k <= g->n_names; k++) {
		r = deliver(g, &d, g->names[k - 1], next, n[k]);
		next += n[k];
	}
	return r == 0 && n[0] > 0 ? deliver(g, &d, NULL, windows, n[0]) : r;
}

static enum by by_of(const struct timeline_by *by, bool with_host)
{
	if (by->n_labels > 0 || strcmp(by->label, QUERY_FILTER_INSTANCE) != 0)
		return BY_OF_LABEL;
	return with_host ? BY_OF_ID_AND_HOST : BY_OF_ID;
}

static int ask(struct timeline_groups *g, enum by by, struct err *err)
{
	int r;

	g->by = by;
	r = g->whole ? take_names(g, err) : ask_names(g, err);
	if (r == 0)
		r = ask_windows(g, err);
	g->is_asked = r == 0;
	return r;
}

static int find_source(struct timeline_groups *g, struct err *err)
{
	const struct query_filter *f = &g->filter;
	int r = 0;

	bound_query_init(&g->query, g->store, f, MAX_ANSWER_BYTES);
	/* of several services, sets of labels may be equal */
	if (f->service)
		r = profile_source_is_whole(g->store, f, true, &g->whole, err);
	g->hours = g->whole && profile_type_get(f->type)->node_agent &&
		   timeline_hours_fit(f, g->what->all);
	return r == 0 && g->whole ? label_sets_find(g->store, f, g->what, &g->sets, err) : r;
}

static int new_groups(struct timeline_groups **ret, struct store *store,
		      const struct query_filter *f, const struct timeline_by *by, struct err *err)
{
	CLEANUP(timeline_groups_freep) struct timeline_groups *g = NULL;
	int r;

	if (by->n_labels > TIMELINE_MOST_LABELS) {
		(void)err_set(err, -EINVAL, "more than %u labels to group by",
			      TIMELINE_MOST_LABELS);
		return -EINVAL;
	}
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->store = store;
	g->filter = *f;
	g->filter.source = f->source ? f->source : &g->source;
	g->what = by;
	g->max_names = by->max_groups > TIMELINE_MOST_GROUPS ? TIMELINE_MOST_GROUPS
		       : by->max_groups > 0                  ? by->max_groups
							     : TIMELINE_MAX_GROUPS;
	arena_init(&g->arena, NAMES_BYTES);
	r = find_source(g, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(g);
	return 0;
}

int timeline_groups_open(struct timeline_groups **ret, struct store *store,
			 const struct query_filter *f, const struct timeline_by *by,
			 struct timeline *all, struct err *err)
{
	CLEANUP(timeline_groups_freep) struct timeline_groups *g = NULL;
	int r = new_groups(&g, store, f, by, err);

	if (r < 0)
		return r;
	if (g->hours)
		r = label_sets_find_values(store, &g->filter, g->sets, err);
	if (r == 0 && g->hours)
		r = ask(g, by_of(by, g->sets->has_hosts), err);
	if (r == 0)
		r = timeline_query_of(store, &g->filter, all, g->is_asked ? &g->query.answer : NULL,
				      err);
	if (r == 0)
		*ret = TAKE_PTR(g);
	return r;
}

int timeline_groups_each(struct timeline_groups *g, timeline_group_fn fn, void *ctx,
			 struct err *err)
{
	int r = g->is_asked ? 0 : ask(g, by_of(g->what, g->what->with_host), err);

	return r == 0 ? deliver_all(g, fn, ctx, err) : r;
}

void timeline_groups_freep(struct timeline_groups **g)
{
	if (!*g)
		return;
	arena_fini(&(*g)->arena);
	bound_query_fini(&(*g)->query);
	profile_source_fini(&(*g)->source);
	free((*g)->sums);
	free(*g);
	*g = NULL;
}

int timeline_groups_query(struct store *store, const struct query_filter *f,
			  const struct timeline_by *by, timeline_group_fn fn, void *ctx,
			  struct err *err)
{
	CLEANUP(timeline_groups_freep) struct timeline_groups *g = NULL;
	int r = new_groups(&g, store, f, by, err);

	return r == 0 ? timeline_groups_each(g, fn, ctx, err) : r;
}

/* ---- JSON ---- */

struct writing {
	struct json_writer *w;
	uint32_t n_steps;
};

static int put_series(void *ctx, const struct timeline_group *g)
{
	const struct writing *to = ctx;
	const char *shown = g->name ? g->name : "other";
	struct json_writer *w = to->w;

	json_open(w, '{');
	json_key(w, "name");
	json_put_string(w, shown, strlen(shown));
	if (!g->name) {
		json_key(w, "other");
		json_put_bool(w, true);
	}
	json_key(w, "values");
	json_open(w, '[');
	for (uint32_t i = 0; i < to->n_steps; i++)
		json_put_double(w, g->values[i]);
	json_close(w, ']');
	json_close(w, '}');
	return 0;
}

int timeline_groups_write(struct json_writer *w, struct timeline_groups *g, struct err *err)
{
	struct writing to = {w, g->what->all->n_steps};

	return timeline_groups_each(g, put_series, &to, err);
}
