/*
 * Rows of a function are one piece of the table, so that the applications that use it are found by
 * reading no others: SQL_TOP adds them up. Only for those that are listed, SQL_DAYS reads the days
 * and versions, and the totals of all functions beside them, from which shares are made here.
 *
 * A row that was summed again may be there twice until the engine has merged it, so the newest
 * counts (argMax). FINAL would do the same and take longer.
 */
#include "cluster-agent/query/read/fleet_query.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/stored_name.h"
#include "cluster-agent/store/projections.h"
#include "cluster-agent/symbols/symbol_store.h"
#include "common/data/array.h"

#define MAX_LIST_BYTES ((size_t)4 << 20)
#define MAX_DAYS_BYTES ((size_t)64 << 20)
#define MIN_PART_BYTES 3u /* of the index of names */
/* Functions without a name whose names are looked up, those with the largest totals. */
#define MAX_UNNAMED 20000u
/* Parameters may travel in an address: names beyond that many bytes are left out. */
#define MAX_NAMES_BYTES ((size_t)96 * 1024)

#define OF_DAYS                                        \
	"Day >= toDate(toUInt16({first:UInt64})) AND " \
	"Day <= toDate(toUInt16({last:UInt64})) AND "
/* A day may be summed again: the newest row counts. */
#define SQL_TOP_BEGIN                                                                    \
	"SELECT ServiceName, Type, self, total, count() OVER (), sum(self) OVER (), "    \
	"sum(total) OVER () FROM (SELECT ServiceName, Type, sum(toFloat64(s)) AS self, " \
	"sum(toFloat64(t)) AS total FROM (SELECT ServiceName, Type, Version, Day, "      \
	"argMax(Self, Summed) AS s, argMax(Total, Summed) AS t FROM ${functions} "       \
	"WHERE Name IN {names:Array(String)} AND " OF_DAYS
#define SQL_TOP_END                                                                     \
	" GROUP BY Name, ServiceName, Type, Version, Day) GROUP BY ServiceName, Type) " \
	"ORDER BY total DESC, ServiceName, Type LIMIT {limit:UInt64}"

#define SQL_DAYS_BEGIN                                               \
	"SELECT ServiceName, Type, Version, toUInt32(Day) AS d, "    \
	"Name != '' AS is_own, toFloat64(argMax(Self, Summed)), "    \
	"toFloat64(argMax(Total, Summed)), argMax(Covered, Summed) " \
	"FROM ${functions} WHERE Name IN {with_all:Array(String)} "  \
	"AND ServiceName IN {services:Array(String)} AND " OF_DAYS
#define SQL_DAYS_END                                       \
	" GROUP BY Name, ServiceName, Type, Version, Day " \
	"ORDER BY ServiceName, Type, Version, Day, is_own"

/* Up to when each of the last two days is summed. */
#define SQL_UP_TO                                                                      \
	"SELECT toUInt32(Day) AS d, toUnixTimestamp64Nano(min(s)) FROM (SELECT Day, "  \
	"ServiceName, max(Summed) AS s FROM ${functions} WHERE Name = '' AND " OF_DAYS \
	"1 GROUP BY Day, ServiceName) GROUP BY Day ORDER BY d"

/* Functions without a name (stored_name.h): few parts of the table have any, as its index knows. */
#define IS_UNNAMED "lower(Name) LIKE '%+0x%]'"
#define SQL_NAMES_BEGIN                                                                   \
	"SELECT Name, sum(toFloat64(Total)) AS total FROM ${functions} WHERE Name != '' " \
	"AND " OF_DAYS
#define SQL_NAMED " AND NOT (" IS_UNNAMED ")"
#define SQL_UNNAMED " AND " IS_UNNAMED
#define SQL_PART " AND lower(Name) LIKE {part:String}"
#define SQL_BEGIN " AND startsWith(Name, {search:String})"
#define SQL_NAMES_END                                                            \
	" GROUP BY Name ORDER BY Name = {search:String} DESC, total DESC, Name " \
	"LIMIT {limit:UInt64}"
#define SQL_UNNAMED_END " GROUP BY Name ORDER BY total DESC, Name LIMIT {limit:UInt64}"

struct fleet {
	struct store *store;
	const struct query_filter *f;
	const char *name;
	const char **names; /* under which the function is stored; in front of them, "" */
	size_t n_names;
	const char *version;
	uint32_t first; /* days since the epoch */
	uint32_t last;
	struct fleet_list *list;
};

static uint32_t day_of(int64_t ns)
{
	return ns > 0 ? (uint32_t)(ns / SCHEMA_DAY_NS) : 0;
}

static int run(struct bound_query *q, struct err *err)
{
	return bound_query_run_optional(
		q,
		"there are no sums by function: --functions-ttl is 0, or the cluster-agent may not "
		"create or read the table profiling_functions",
		err);
}

static void begin(struct bound_query *q, const struct fleet *w, uint32_t first,
		  size_t max_answer_bytes)
{
	bound_query_init(q, w->store, w->f, max_answer_bytes);
	bound_query_add_uint(q, "first", first);
	bound_query_add_uint(q, "last", w->last);
	if (w->names) {
		bound_query_add_texts(q, "names", w->names + 1, w->n_names);
		bound_query_add_texts(q, "with_all", w->names, w->n_names + 1);
	}
}

static void add_types(struct bound_query *q, const struct fleet *w)
{
	bound_query_add_sql(q, w->f,
			    w->f->type ? "Type = {type:String}" : "Type IN (${cpu_types})");
}

static void add_version(struct bound_query *q, const struct fleet *w)
{
	if (!w->version)
		return;
	bound_query_add_text(q, "version", w->version);
	bound_query_add_sql(q, w->f, " AND Version = {version:String}");
}

/* ---- functions that were stored without a name ---- */

struct named {
	const char *name;   /* as it is shown */
	const char *stored; /* NULL: the same */
	double total;
};

struct named_list {
	struct arena *arena; /* of the texts; borrowed */
	struct named *items;
	size_t n_items;
	size_t max_items;
};

static void named_list_fini(struct named_list *l)
{
	free(l->items);
}

static int add_named(struct named_list *l, struct named n)
{
	int r = n.name ? ARRAY_RESERVE(l->items, l->max_items, l->n_items + 1) : -ENOMEM;

	if (r == 0)
		l->items[l->n_items++] = n;
	return r;
}

/* Appends those of the days from first on, with the names that are known by now. */
static int query_unnamed(const struct fleet *w, uint32_t first, struct named_list *ret,
			 struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader r;
	int e;

	begin(&q, w, first, MAX_DAYS_BYTES);
	bound_query_add_uint(&q, "limit", MAX_UNNAMED);
	bound_query_add_sql(&q, w->f, SQL_NAMES_BEGIN);
	add_types(&q, w);
	bound_query_add_sql(&q, w->f, SQL_UNNAMED SQL_UNNAMED_END);
	e = run(&q, err);
	rowbinary_reader_init(&r, q.answer.data, q.answer.len);
	while (e == 0 && rowbinary_has_more(&r)) {
		const char *stored = rowbinary_take_string(&r, ret->arena);
		double total = rowbinary_get_f64(&r);
		const char *name =
			stored ? stored_name_shown(w->f->symbols, stored, ret->arena) : NULL;

		e = add_named(ret, (struct named){name, stored, total});
	}
	return e < 0 ? e : bound_query_check(&r, err);
}

/* Whether a function of this name may be stored under others. */
static bool may_be_unnamed(const struct fleet *w)
{
	struct symbol_store *symbols = w->f->symbols;

	return strstr(w->name, "+0x") || (symbols && symbol_store_generation(symbols) > 0);
}

/* Finds all names under which the function is stored. */
static int find_names(struct fleet *w, struct err *err)
{
	struct arena *a = &w->list->arena;
	CLEANUP(named_list_fini) struct named_list l = {.arena = a};
	size_t n_bytes = 0;
	int r = may_be_unnamed(w) ? query_unnamed(w, w->first, &l, err) : 0;
	const char **names;

	if (r < 0)
		return r;
	names = arena_calloc(a, l.n_items + 2, sizeof(*names));
	if (!names)
		return -ENOMEM;
	names[0] = "";
	names[++w->n_names] = w->name;
	for (size_t i = 0; i < l.n_items; i++) {
		const struct named *n = &l.items[i];

		if (strcmp(n->name, w->name) != 0 || strcmp(n->stored, w->name) == 0)
			continue;
		n_bytes += strlen(n->stored);
		if (n_bytes <= MAX_NAMES_BYTES)
			names[++w->n_names] = n->stored;
		else if (w->f->symbols)
			symbol_store_count_without_room(w->f->symbols, 1);
	}
	w->names = names;
	return 0;
}

/* ---- which applications ---- */

static int read_top(struct fleet_list *l, const struct bound_query *q, uint32_t limit,
		    struct err *err)
{
	struct rowbinary_reader r;

	l->items = arena_calloc(&l->arena, limit + 1, sizeof(*l->items));
	if (!l->items)
		return -ENOMEM;
	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r) && l->n_items < limit) {
		struct fleet_application *a = &l->items[l->n_items++];

		a->service = rowbinary_take_string(&r, &l->arena);
		a->type = rowbinary_take_string(&r, &l->arena);
		(void)rowbinary_get_f64(&r);
		(void)rowbinary_get_f64(&r);
		l->n_applications = rowbinary_get_u64(&r);
		l->self = rowbinary_get_f64(&r);
		l->total = rowbinary_get_f64(&r);
		a->days = arena_calloc(&l->arena, l->n_days, sizeof(*a->days));
		if (!a->service || !a->type || !a->days)
			return -ENOMEM;
		for (uint32_t i = 0; i < l->n_days; i++)
			a->days[i] = NAN;
	}
	return bound_query_check(&r, err);
}

static int query_top(struct fleet *w, uint32_t limit, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	begin(&q, w, w->first, MAX_LIST_BYTES);
	bound_query_add_uint(&q, "limit", limit);
	bound_query_add_sql(&q, w->f, SQL_TOP_BEGIN);
	add_types(&q, w);
	if (w->f->service)
		bound_query_add_sql(&q, w->f, " AND ServiceName = {service:String}");
	add_version(&q, w);
	bound_query_add_sql(&q, w->f, SQL_TOP_END);
	r = run(&q, err);
	return r == 0 ? read_top(w->list, &q, limit, err) : r;
}

/* ---- their days and versions ---- */

struct day_row {
	const char *service;
	size_t service_len;
	const char *type;
	size_t type_len;
	const char *version;
	size_t version_len;
	uint32_t day;
	bool is_own; /* of the function; else of all */
	double self;
	double total;
	double covered_s;
};

static void read_row(struct rowbinary_reader *r, struct day_row *ret)
{
	ret->service = rowbinary_get_string(r, &ret->service_len);
	ret->type = rowbinary_get_string(r, &ret->type_len);
	ret->version = rowbinary_get_string(r, &ret->version_len);
	ret->day = rowbinary_get_u32(r);
	ret->is_own = rowbinary_get_u8(r) != 0;
	ret->self = rowbinary_get_f64(r);
	ret->total = rowbinary_get_f64(r);
	ret->covered_s = rowbinary_get_u32(r);
}

static bool is_text(const char *text, const char *data, size_t len)
{
	return strlen(text) == len && memcmp(text, data, len) == 0;
}

/* The application whose rows are being read; they follow each other. */
struct reading {
	struct fleet *w;
	struct fleet_application *app; /* NULL: none yet, or one that is not in the list */
	size_t first_version;          /* of list->versions */
	struct fleet_version *version; /* NULL: none yet; its rows follow each other as well */
	double *covered_s;             /* by day: what a level is divided by */
	double version_covered_s;
	uint32_t first_own; /* days since the first one of the range; n_days: none */
	uint32_t first_any;
};

static struct fleet_application *find_application(struct fleet_list *l, const struct day_row *row)
{
	for (size_t i = 0; i < l->n_items; i++)
		if (is_text(l->items[i].service, row->service, row->service_len) &&
		    is_text(l->items[i].type, row->type, row->type_len))
			return &l->items[i];
	return NULL;
}

static void divide(struct fleet_value *v, double by)
{
	v->self /= by;
	v->total /= by;
	v->whole /= by;
}

static bool is_level(const struct fleet_application *a)
{
	return profile_type_get(a->type)->aggregation == PROFILE_AGGREGATION_AVG;
}

static void end_version(struct reading *r)
{
	const struct fleet_version *v = r->version;

	if (!v)
		return;
	r->app->value.self += v->value.self;
	r->app->value.total += v->value.total;
	r->app->value.whole += v->value.whole;
	if (is_level(r->app))
		divide(&r->version->value, fmax(r->version_covered_s, 1));
	r->version = NULL;
}

static void end_application(struct reading *r)
{
	struct fleet_list *l = r->w->list;
	struct fleet_application *a = r->app;
	double covered_s = 0;

	end_version(r);
	if (!a)
		return;
	for (uint32_t i = 0; i < l->n_days; i++) {
		covered_s += r->covered_s[i];
		if (is_level(a) && !isnan(a->days[i]))
			a->days[i] /= fmax(r->covered_s[i], 1);
	}
	if (is_level(a))
		divide(&a->value, fmax(covered_s, 1));
	if (r->first_own > r->first_any && r->first_own < l->n_days)
		a->since_ns = l->from_ns + r->first_own * SCHEMA_DAY_NS;
	a->n_versions = l->n_versions - r->first_version;
	r->app = NULL;
}

static void begin_application(struct reading *r, const struct day_row *row)
{
	struct fleet_list *l = r->w->list;

	end_application(r);
	r->app = find_application(l, row);
	r->first_version = l->n_versions;
	r->first_own = r->first_any = l->n_days;
	memset(r->covered_s, 0, l->n_days * sizeof(*r->covered_s));
}

static int begin_version(struct reading *r, const struct day_row *row)
{
	struct fleet_list *l = r->w->list;
	struct fleet_version *v;

	end_version(r);
	if (l->n_versions == l->max_versions) {
		size_t max = l->max_versions > 0 ? 2 * l->max_versions : 256;
		void *moved = realloc(l->versions, max * sizeof(*l->versions));

		if (!moved)
			return -ENOMEM;
		l->versions = moved;
		l->max_versions = max;
	}
	v = &l->versions[l->n_versions++];
	*v = (struct fleet_version){
		.name = arena_strndup(&l->arena, row->version, row->version_len)};
	r->version = v;
	r->version_covered_s = 0;
	return v->name ? 0 : -ENOMEM;
}

static void add_day(struct reading *r, const struct day_row *row, uint32_t i)
{
	struct fleet_application *a = r->app;
	struct fleet_version *v = r->version;

	if (row->is_own) {
		v->value.self += row->self;
		v->value.total += row->total;
		a->days[i] = (isnan(a->days[i]) ? 0 : a->days[i]) + row->total;
		r->first_own = i < r->first_own ? i : r->first_own;
		return;
	}
	v->value.whole += row->total;
	v->last_ns = r->w->list->from_ns + i * SCHEMA_DAY_NS;
	v->first_ns = v->first_ns > 0 ? v->first_ns : v->last_ns;
	r->version_covered_s += row->covered_s;
	r->covered_s[i] = fmax(r->covered_s[i], row->covered_s);
	a->days[i] = isnan(a->days[i]) ? 0 : a->days[i];
	r->first_any = i < r->first_any ? i : r->first_any;
}

static int take_row(struct reading *r, const struct day_row *row)
{
	uint32_t i = row->day - r->w->first;
	int e = 0;

	if (!r->app || !is_text(r->app->service, row->service, row->service_len) ||
	    !is_text(r->app->type, row->type, row->type_len))
		begin_application(r, row);
	if (!r->app || i >= r->w->list->n_days)
		return 0;
	if (!r->version || !is_text(r->version->name, row->version, row->version_len))
		e = begin_version(r, row);
	if (e == 0)
		add_day(r, row, i);
	return e;
}

/* Versions have stopped moving, and are in the order in which their applications were read. */
static void place_versions(struct fleet_list *l, const size_t *first)
{
	for (size_t i = 0; i < l->n_items; i++)
		l->items[i].versions = l->items[i].n_versions > 0 ? l->versions + first[i] : NULL;
}

static int read_days(struct fleet *w, const struct bound_query *q, struct err *err)
{
	struct fleet_list *l = w->list;
	AUTO_FREE double *covered_s = calloc(l->n_days, sizeof(*covered_s));
	AUTO_FREE size_t *first = calloc(l->n_items + 1, sizeof(*first));
	struct reading reading = {.w = w, .covered_s = covered_s};
	struct rowbinary_reader r;
	int e = covered_s && first ? 0 : -ENOMEM;

	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (e == 0 && rowbinary_has_more(&r)) {
		struct day_row row;

		read_row(&r, &row);
		if (rowbinary_reader_finish(&r) < 0)
			break;
		e = take_row(&reading, &row);
		if (reading.app)
			first[reading.app - l->items] = reading.first_version;
	}
	if (e < 0)
		return e;
	end_application(&reading);
	place_versions(l, first);
	return bound_query_check(&r, err);
}

/* An application with two types is named once. */
static int add_services(struct bound_query *q, const struct fleet_list *l)
{
	AUTO_FREE const char **names = calloc(l->n_items + 1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < l->n_items; i++)
		names[i] = l->items[i].service;
	bound_query_add_texts(q, "services", names, l->n_items);
	return 0;
}

static int query_days(struct fleet *w, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	begin(&q, w, w->first, MAX_DAYS_BYTES);
	r = add_services(&q, w->list);
	if (r < 0)
		return r;
	bound_query_add_sql(&q, w->f, SQL_DAYS_BEGIN);
	add_types(&q, w);
	add_version(&q, w);
	bound_query_add_sql(&q, w->f, SQL_DAYS_END);
	r = run(&q, err);
	return r == 0 ? read_days(w, &q, err) : r;
}

static int query_up_to(struct fleet *w, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader r;
	int e;

	begin(&q, w, w->last > w->first ? w->last - 1 : w->last, MAX_LIST_BYTES);
	bound_query_add_sql(&q, w->f, SQL_UP_TO);
	e = run(&q, err);
	if (e < 0)
		return e;
	rowbinary_reader_init(&r, q.answer.data, q.answer.len);
	while (rowbinary_has_more(&r)) {
		int64_t end_ns = (rowbinary_get_u32(&r) + INT64_C(1)) * SCHEMA_DAY_NS;
		int64_t summed_ns = rowbinary_get_i64(&r);

		w->list->up_to_ns = summed_ns < end_ns ? summed_ns : end_ns;
	}
	return bound_query_check(&r, err);
}

static struct fleet fleet_of(struct store *store, const struct query_filter *f)
{
	return (struct fleet){
		.store = store,
		.f = f,
		.first = day_of(f->from_ns),
		.last = day_of(f->to_ns - 1),
	};
}

int fleet_query(struct store *store, const struct fleet_question *q, struct fleet_list *ret,
		struct err *err)
{
	const struct query_filter *range = q->range;
	const struct query_filter f = {
		.service = range->service && range->service[0] ? range->service : NULL,
		.type = range->type && range->type[0] ? range->type : NULL,
		.from_ns = range->from_ns,
		.to_ns = range->to_ns,
		.ticket = range->ticket,
		.symbols = range->symbols,
	};
	struct fleet_list l = {0};
	struct fleet w = fleet_of(store, &f);
	uint32_t most =
		q->max < FLEET_QUERY_MAX_APPLICATIONS ? q->max : FLEET_QUERY_MAX_APPLICATIONS;
	int r;

	w.name = q->function;
	w.version = q->version;
	w.list = &l;
	l.n_days = w.last - w.first + 1;
	l.from_ns = w.first * SCHEMA_DAY_NS;
	arena_init(&l.arena, MAX_DAYS_BYTES);
	r = find_names(&w, err);
	if (r == 0)
		r = query_top(&w, most, err);
	if (r == 0 && l.n_items > 0)
		r = query_days(&w, err);
	if (r == 0)
		r = query_up_to(&w, err);
	if (r < 0)
		fleet_list_fini(&l);
	else
		*ret = l;
	return r;
}

void fleet_list_fini(struct fleet_list *l)
{
	free(l->versions);
	l->versions = NULL;
	arena_fini(&l->arena);
}

/* ---- names ---- */

/* "%<text>%" with what LIKE takes for more than itself escaped, in lower case. */
static const char *like_part(struct arena *a, const char *text)
{
	char *out = arena_alloc(a, 2 * strlen(text) + 3), *at = out;

	if (!out)
		return NULL;
	*at++ = '%';
	for (; *text; text++) {
		if (strchr("%_\\", *text))
			*at++ = '\\';
		*at++ = (char)(*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text);
	}
	*at++ = '%';
	*at = '\0';
	return out;
}

static int query_named(const struct fleet *w, const char *search, uint32_t first, uint32_t limit,
		       struct named_list *ret, struct err *err)
{
	const char *part = like_part(ret->arena, search);
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader r;
	int e;

	begin(&q, w, first, MAX_LIST_BYTES);
	if (!part)
		return -ENOMEM;
	bound_query_add_text(&q, "search", search);
	bound_query_add_text(&q, "part", part);
	bound_query_add_uint(&q, "limit", limit);
	bound_query_add_sql(&q, w->f, SQL_NAMES_BEGIN);
	add_types(&q, w);
	bound_query_add_sql(&q, w->f, SQL_NAMED);
	bound_query_add_sql(&q, w->f, strlen(search) < MIN_PART_BYTES ? SQL_BEGIN : SQL_PART);
	bound_query_add_sql(&q, w->f, SQL_NAMES_END);
	e = run(&q, err);
	rowbinary_reader_init(&r, q.answer.data, q.answer.len);
	while (e == 0 && rowbinary_has_more(&r)) {
		const char *name = rowbinary_take_string(&r, ret->arena);

		e = add_named(ret, (struct named){name, NULL, rowbinary_get_f64(&r)});
	}
	return e < 0 ? e : bound_query_check(&r, err);
}

/* As SQL_PART and SQL_BEGIN do it. */
static bool is_found(const char *name, const char *search)
{
	size_t n = strlen(search);

	if (n < MIN_PART_BYTES)
		return strncmp(name, search, n) == 0;
	for (; *name; name++)
		if (strncasecmp(name, search, n) == 0)
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static int by_total(const void *a, const void *b, void *ctx)
{
	const char *const *search = ctx;
	const struct named *x = a, *y = b;
	bool x_is = strcmp(x->name, *search) == 0, y_is = strcmp(y->name, *search) == 0;

	if (x_is != y_is)
		return x_is ? -1 : 1;
	if (x->total < y->total || x->total > y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Removes what is not searched for, adds up what has the same name, and sorts the rest. */
static void select_names(struct named_list *l, const char *search)
{
	size_t n = 0;

	if (l->n_items == 0)
		return;
	qsort(l->items, l->n_items, sizeof(*l->items), by_name);
	for (size_t i = 0; i < l->n_items; i++) {
		const struct named now = l->items[i];

		if (n > 0 && strcmp(l->items[n - 1].name, now.name) == 0)
			l->items[n - 1].total += now.total;
		else if (!now.stored || is_found(now.name, search))
			l->items[n++] = now;
	}
	l->n_items = n;
	qsort_r(l->items, n, sizeof(*l->items), by_total, &search);
}

int fleet_query_names(struct store *store, const struct query_filter *range, const char *search,
		      uint32_t limit, struct fleet_names *ret, struct err *err)
{
	const struct query_filter f = {
		.type = range->type && range->type[0] ? range->type : NULL,
		.from_ns = range->from_ns,
		.to_ns = range->to_ns,
		.ticket = range->ticket,
		.symbols = range->symbols,
	};
	const struct fleet w = fleet_of(store, &f);
	const uint32_t first = w.last > w.first ? w.last - 1 : w.last;
	CLEANUP(named_list_fini) struct named_list l = {.arena = &ret->arena};
	int r;

	ret->n_items = 0;
	arena_init(&ret->arena, MAX_DAYS_BYTES);
	r = query_named(&w, search, first, limit, &l, err);
	if (r == 0)
		r = query_unnamed(&w, first, &l, err);
	if (r < 0)
		return r;
	select_names(&l, search);
	for (; ret->n_items < l.n_items && ret->n_items < limit &&
	       ret->n_items < FLEET_QUERY_MAX_NAMES;
	     ret->n_items++)
		ret->items[ret->n_items] = l.items[ret->n_items].name;
	return 0;
}
