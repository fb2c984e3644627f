/*
 * profiling_quality has one row per profile, of earlier releases without labels; profiling_samples
 * has one per stack, with all labels. So the second is read only if a label of the selector or of
 * the answer needs it.
 *
 * Conditions that service and type decide need not be repeated for samples: series_select()
 * evaluates them once, and names the services that are left. If these are all services that have
 * the type, no list of services is needed.
 */
#include "cluster-agent/query/read/series_query.h"

#include <errno.h>

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/label_sql.h"

#define MAX_ANSWER_BYTES ((size_t)32 << 20)
#define MAX_SELECTION_BYTES ((size_t)32 << 20)

/* Takes what stands in front of a selector, "name{…}" or "name", and returns what is after it. */
static const char *take_type(struct series_selector *s, const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "_:.-");

	s->series.n_items = 0;
	if (len == 0 || len >= sizeof(s->type) || (text[len] && text[len] != '{'))
		return text;
	memcpy(s->type, text, len);
	s->type[len] = '\0';
	s->series.items[s->series.n_items++] = (struct label_matcher){
		.name = strchr(s->type, ':') ? LABEL_SQL_PROFILE_TYPE : "__name__",
		.value = s->type,
		.op = LABEL_EQUAL,
	};
	return text + len;
}

int series_selector_parse(struct series_selector *ret, const char *text, struct err *err)
{
	struct label_matchers *l = &ret->labels;
	size_t n = 0;
	int r = label_matchers_parse(l, take_type(ret, text + strspn(text, " ")), err);

	if (r < 0)
		return r;
	if (l->n_items + ret->series.n_items > LABEL_MATCHERS_MAX)
		return err_set(err, -EINVAL, "label matchers: more than %u of them",
			       LABEL_MATCHERS_MAX);
	for (size_t i = 0; i < l->n_items; i++) {
		bool series;

		label_sql(l->items[i].name, &series);
		if (series)
			ret->series.items[ret->series.n_items++] = l->items[i];
		else
			l->items[n++] = l->items[i];
	}
	l->n_items = n;
	return 0;
}

static bool needs_labels(const struct series_selector *s, const char *const *labels, size_t n)
{
	bool series = s->labels.n_items == 0;

	for (size_t i = 0; series && i < n; i++)
		label_sql(labels[i], &series);
	return !series;
}

/* Parameters of the two lists of matchers would have the same names, so they are one list here. */
static void add_conditions(struct bound_query *q, const struct series_selector *s)
{
	struct label_matchers all = {.n_items = 0};

	for (size_t i = 0; i < s->series.n_items; i++)
		all.items[all.n_items++] = s->series.items[i];
	for (size_t i = 0; i < s->labels.n_items; i++)
		all.items[all.n_items++] = s->labels.items[i];
	bound_query_bind_matchers(q, &all);
	bound_query_add_matchers(q, &all, NULL);
}

static void add_columns(struct bound_query *q, const char *const *labels, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char param[32];

		snprintf(param, sizeof(param), "label%zu", i);
		bound_query_add_text(q, param, labels[i]);
		bound_query_addf(q, i > 0 ? ", " : "");
		bound_query_add_label(q, labels[i], param);
		bound_query_addf(q, " AS c%zu", i);
	}
}

static int read_rows(const struct bound_query *q, size_t n_columns, series_fn fn, void *ctx,
		     struct err *err)
{
	struct rowbinary_reader r;

	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r)) {
		struct series_value values[SERIES_MAX_LABELS];
		int e;

		for (size_t i = 0; i < n_columns; i++)
			values[i].text = rowbinary_get_string(&r, &values[i].len);
		if (rowbinary_reader_finish(&r) < 0)
			break;
		e = fn(ctx, values);
		if (e < 0)
			return e;
	}
	return bound_query_check(&r, err);
}

static void add_source(struct bound_query *q, const struct query_filter *range,
		       const struct series_selector *s, bool from_samples)
{
	bound_query_add_sql(q, range,
			    from_samples ? " FROM ${samples} WHERE ${range}"
					 : " FROM ${quality} WHERE ${range}");
	add_conditions(q, s);
}

static void init(struct bound_query *q, struct store *store, const struct query_filter *range)
{
	const struct query_filter f = {
		.from_ns = range->from_ns, .to_ns = range->to_ns, .ticket = range->ticket};

	bound_query_init(q, store, &f, MAX_ANSWER_BYTES);
	bound_query_add_uint(q, "rows", SERIES_MAX_ROWS);
}

static void add_distinct(struct bound_query *q, const struct query_filter *range,
			 const struct series_selector *selector, const char *const *labels,
			 size_t n)
{
	bound_query_add_sql(q, range, "SELECT DISTINCT ");
	add_columns(q, labels, n);
	add_source(q, range, selector, needs_labels(selector, labels, n));
}

static void add_names(struct bound_query *q, const struct query_filter *range,
		      const struct series_selector *selector)
{
	bound_query_add_sql(q, range, "SELECT DISTINCT arrayJoin(mapKeys(Labels)) AS c0");
	add_source(q, range, selector, true);
}

static int run(struct bound_query *q, size_t n_columns, struct err *err)
{
	bound_query_addf(q, " ORDER BY ");
	for (size_t i = 0; i < n_columns; i++)
		bound_query_addf(q, "%sc%zu", i > 0 ? ", " : "", i);
	bound_query_addf(q, " LIMIT {rows:UInt64}");
	return bound_query_run(q, err);
}

int series_query(struct store *store, const struct series_question *question, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	size_t n = question->labels ? question->n_labels : 1;
	int r;

	init(&q, store, question->range);
	if (n == 0 || n > SERIES_MAX_LABELS)
		return err_set(err, -EINVAL, "the number of labels is not 1 to %u",
			       SERIES_MAX_LABELS);
	if (question->labels)
		add_distinct(&q, question->range, question->selector, question->labels, n);
	else
		add_names(&q, question->range, question->selector);
	r = run(&q, n, err);
	return r == 0 ? read_rows(&q, n, question->fn, question->ctx, err) : r;
}

/* ---- selections ---- */

/* Rows of (service, type) come sorted by service. */
struct selecting {
	struct arena *arena;
	const struct profile_id_types *types;
	const char **services[PROFILE_ID_MAX_TYPES]; /* by type */
	size_t n_services[PROFILE_ID_MAX_TYPES];
	size_t n_passed_over[PROFILE_ID_MAX_TYPES]; /* services that have a better type, too */
	struct series_value service;                /* of the latest rows, in the arena */
	bool has[PROFILE_ID_MAX_TYPES];             /* types of it */
};

/* Puts the service into the list of its best type. */
static int end_service(struct selecting *s)
{
	bool found = false;

	for (size_t i = 0; s->service.text && i < s->types->n_items; i++) {
		size_t n = s->n_services[i];

		if (!s->has[i])
			continue;
		if (found) {
			s->n_passed_over[i]++;
			continue;
		}
		found = true;
		if (n == 0)
			s->services[i] = arena_alloc(s->arena, sizeof(char *) * SERIES_MAX_ROWS);
		if (!s->services[i])
			return arena_error(s->arena, sizeof(char *) * SERIES_MAX_ROWS);
		s->services[i][s->n_services[i]++] = s->service.text;
	}
	return 0;
}

static int add_row(void *ctx, const struct series_value *values)
{
	struct selecting *s = ctx;
	int r;

	if (!s->service.text || s->service.len != values[0].len ||
	    memcmp(s->service.text, values[0].text, values[0].len) != 0) {
		r = end_service(s);
		if (r < 0)
			return r;
		memset(s->has, 0, sizeof(s->has));
		s->service.len = values[0].len;
		s->service.text = arena_strndup(s->arena, values[0].text, values[0].len);
		if (!s->service.text)
			return arena_error(s->arena, values[0].len + 1);
	}
	for (size_t i = 0; i < s->types->n_items; i++)
		if (strlen(s->types->items[i]) == values[1].len &&
		    memcmp(s->types->items[i], values[1].text, values[1].len) == 0)
			s->has[i] = true;
	return 0;
}

/* Whether the selector lets all services pass. */
static bool takes_all_services(const struct series_selector *selector)
{
	return selector->series.n_items == 0 && selector->labels.n_items == 0;
}

static void add_item(struct series_selection *ret, const struct query_filter *range,
		     const struct series_selector *selector, const struct selecting *s, size_t type)
{
	struct query_filter *f = &ret->items[ret->n_items++];
	size_t n = s->n_services[type];

	*f = *range;
	f->type = s->types->items[type];
	f->instance = NULL;
	f->plain_labels = true;
	f->where = selector->labels.n_items > 0 ? &selector->labels : NULL;
	f->service = n == 1 ? s->services[type][0] : NULL;
	f->services = s->services[type];
	f->n_services = n;
	if (n != 1)
		f->stacks = NULL;
	if (n > 1 && takes_all_services(selector) && s->n_passed_over[type] == 0)
		f->services = NULL;
}

static int find_services(struct selecting *s, struct store *store, const struct query_filter *range,
			 const struct series_selector *selector, struct err *err)
{
	static const char *const columns[] = {LABEL_SQL_SERVICE, LABEL_SQL_OWN_TYPE};
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	init(&q, store, range);
	bound_query_add_texts(&q, "wanted", s->types->items, s->types->n_items);
	add_distinct(&q, range, selector, columns, ARRAY_SIZE(columns));
	bound_query_addf(&q, " AND Type IN {wanted:Array(String)}");
	r = run(&q, ARRAY_SIZE(columns), err);
	if (r < 0)
		return r;
	r = read_rows(&q, ARRAY_SIZE(columns), add_row, s, err);
	if (r < 0)
		return r;
	return end_service(s);
}

int series_select(struct store *store, const struct query_filter *range,
		  const struct series_selector *selector, const struct profile_id_types *types,
		  struct series_selection *ret, struct err *err)
{
	struct selecting s = {.arena = &ret->arena, .types = types};
	int r;

	ret->n_items = 0;
	arena_init(&ret->arena, MAX_SELECTION_BYTES);
	r = find_services(&s, store, range, selector, err);
	for (size_t i = 0; r == 0 && i < types->n_items; i++)
		if (s.n_services[i] > 0)
			add_item(ret, range, selector, &s, i);
	return r;
}

void series_selection_fini(struct series_selection *s)
{
	arena_fini(&s->arena);
}
