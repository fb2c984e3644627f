/*
 * Types, labels and series. Several selectors of a request are alternatives: what any of them
 * selects is in the answer, once.
 */
#include <errno.h>

#include "cluster-agent/pyroscope/querier_methods.h"
#include "cluster-agent/query/read/application_query.h"
#include "cluster-agent/query/read/label_sql.h"
#include "common/data/intern.h"
#include "common/system/clock.h"
#include "proto/querier.pb-c.h"

#define MAX_SELECTORS 16u
#define MAX_TEXT_BYTES ((size_t)16 << 20)
/* between values of a row, which then is one text */
#define SEPARATOR '\x01'

/* Rows of all selectors, each once. Text 0 is "", which is no row. */
struct rows {
	struct intern *texts;
	size_t n_columns;
	bool plain_names; /* values are names of labels, and become what they are called */
};

static int add_row(void *ctx, const struct series_value *values)
{
	struct rows *rows = ctx;
	CLEANUP(buf_fini) struct buf text;
	uint32_t id;
	int r = 0;

	buf_init(&text, MAX_TEXT_BYTES);
	for (size_t i = 0; r == 0 && i < rows->n_columns; i++) {
		if (i > 0)
			r = buf_add(&text, (char[]){SEPARATOR}, 1);
		if (r == 0)
			r = buf_add(&text, values[i].text, values[i].len);
	}
	if (r == 0 && rows->plain_names && text.len > 0)
		label_sql_plain_name(text.data, text.len);
	return r == 0 ? intern_add(rows->texts, text.data ? text.data : "", text.len, &id) : r;
}

struct question {
	struct query_filter range;
	const char *const *labels; /* NULL: names of labels */
	size_t n_labels;
	char *const *selectors; /* none: everything */
	size_t n_selectors;
};

static int ask_one(struct querier_call *c, const struct question *q, const char *text,
		   struct rows *rows, struct err *err)
{
	AUTO_FREE struct series_selector *selector = calloc(1, sizeof(*selector));
	const struct series_question question = {
		.range = &q->range,
		.selector = selector,
		.labels = q->labels,
		.n_labels = q->n_labels,
		.fn = add_row,
		.ctx = rows,
	};
	int r = selector ? series_selector_parse(selector, text, err) : -ENOMEM;

	return r == 0 ? series_query(c->store, &question, err) : r;
}

static void rows_fini(struct rows *rows)
{
	intern_free(rows->texts);
}

static int ask(struct querier_call *c, const struct question *q, struct rows *ret, struct err *err)
{
	int r = intern_new(&ret->texts, MAX_TEXT_BYTES);

	ret->n_columns = q->labels ? q->n_labels : 1;
	if (r < 0)
		return r;
	if (q->n_selectors > MAX_SELECTORS)
		return err_set(err, -EINVAL, "more than %u matchers", MAX_SELECTORS);
	if (q->n_selectors == 0)
		return ask_one(c, q, "", ret, err);
	for (size_t i = 0; i < q->n_selectors; i++) {
		r = ask_one(c, q, q->selectors[i], ret, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Splits a row into its columns. */
static void split(const struct rows *rows, uint32_t id, struct series_value *ret)
{
	size_t len;
	const char *text = intern_get(rows->texts, id, &len), *end = text + len;

	for (size_t i = 0; i < rows->n_columns; i++) {
		const char *stop = i + 1 < rows->n_columns
					   ? memchr(text, SEPARATOR, (size_t)(end - text))
					   : NULL;

		stop = stop ? stop : end;
		ret[i] = (struct series_value){text, (size_t)(stop - text)};
		text = stop < end ? stop + 1 : end;
	}
}

/* ---- names and values ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the values of the only column to names. */
static int add_names(struct querier_call *c, const struct rows *rows,
		     Querier__V1__NamesResponse *to)
{
	int r = 0;

	for (uint32_t id = 1; r == 0 && id < intern_count(rows->texts); id++) {
		size_t len;
		const char *text = intern_get(rows->texts, id, &len);

		r = querier_text(c, text, len, &to->names[to->n_names++]);
	}
	return r;
}

static Querier__V1__NamesResponse *new_names(struct querier_call *c, size_t max, int *ret_r)
{
	Querier__V1__NamesResponse *to = querier_alloc(c, 1, sizeof(*to), ret_r);

	if (!to)
		return NULL;
	querier__v1__names_response__init(to);
	to->names = querier_alloc(c, max, sizeof(*to->names), ret_r);
	return to->names ? to : NULL;
}

/* Labels of our own that are not stored, but have values. */
static int add_own_names(struct querier_call *c, Querier__V1__NamesResponse *to)
{
	size_t n;
	const char *const *names = label_sql_names(&n);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = querier_text(c, names[i], strlen(names[i]), &to->names[to->n_names++]);
	return r;
}

static void unique(Querier__V1__NamesResponse *to)
{
	size_t n = 0;

	qsort(to->names, to->n_names, sizeof(*to->names), by_text);
	for (size_t i = 0; i < to->n_names; i++)
		if (n == 0 || strcmp(to->names[n - 1], to->names[i]) != 0)
			to->names[n++] = to->names[i];
	to->n_names = n;
}

int querier_label_names(struct querier_call *c, const ProtobufCMessage *request,
			ProtobufCMessage **ret, struct err *err)
{
	const Querier__V1__LabelNamesRequest *in = (const void *)request;
	struct question q = {.selectors = in->matchers, .n_selectors = in->n_matchers};
	CLEANUP(rows_fini) struct rows rows = {.plain_names = true};
	Querier__V1__NamesResponse *out;
	size_t n_own;
	int r = querier_range(c, in->start, in->end, &q.range, err);

	if (r == 0)
		r = ask(c, &q, &rows, err);
	if (r < 0)
		return r;
	label_sql_names(&n_own);
	out = new_names(c, intern_count(rows.texts) + n_own, &r);
	if (!out)
		return r;
	r = add_names(c, &rows, out);
	if (r == 0 && intern_count(rows.texts) > 1)
		r = add_own_names(c, out);
	unique(out);
	*ret = &out->base;
	return r;
}

int querier_label_values(struct querier_call *c, const ProtobufCMessage *request,
			 ProtobufCMessage **ret, struct err *err)
{
	const Querier__V1__LabelValuesRequest *in = (const void *)request;
	const char *const labels[] = {in->name};
	struct question q = {.labels = labels,
			     .n_labels = 1,
			     .selectors = in->matchers,
			     .n_selectors = in->n_matchers};
	CLEANUP(rows_fini) struct rows rows = {.texts = NULL};
	Querier__V1__NamesResponse *out;
	int r = querier_range(c, in->start, in->end, &q.range, err);

	if (r == 0 && !in->name[0])
		r = err_set(err, -EINVAL, "the name of the label is missing");
	if (r == 0)
		r = ask(c, &q, &rows, err);
	if (r < 0)
		return r;
	out = new_names(c, intern_count(rows.texts), &r);
	if (!out)
		return r;
	r = add_names(c, &rows, out);
	unique(out);
	*ret = &out->base;
	return r;
}

/* ---- series ---- */

static int add_labels(struct querier_call *c, const struct question *q, const struct rows *rows,
		      uint32_t id, Querier__V1__Labels **ret)
{
	struct series_value values[SERIES_MAX_LABELS];
	int r = 0;
	Querier__V1__Labels *set = querier_alloc(c, 1, sizeof(*set), &r);

	if (!set)
		return r;
	querier__v1__labels__init(set);
	set->labels = querier_alloc(c, q->n_labels, sizeof(*set->labels), &r);
	if (!set->labels)
		return r;
	split(rows, id, values);
	for (size_t i = 0; r == 0 && i < q->n_labels; i++)
		if (values[i].len > 0)
			r = querier_label(c, q->labels[i], &values[i],
					  &set->labels[set->n_labels++]);
	*ret = set;
	return r;
}

/* Without names, the labels that say what a series is: all labels would be all profiles. */
int querier_series(struct querier_call *c, const ProtobufCMessage *request, ProtobufCMessage **ret,
		   struct err *err)
{
	static const char *const all[] = {LABEL_SQL_SERVICE, "profiler", LABEL_SQL_PROFILE_TYPE,
					  "namespace",       "pod",      "node"};
	const Querier__V1__SeriesRequest *in = (const void *)request;
	struct question q = {
		.labels = in->n_label_names > 0 ? (const char *const *)in->label_names : all,
		.n_labels = in->n_label_names > 0 ? in->n_label_names : ARRAY_SIZE(all),
		.selectors = in->matchers,
		.n_selectors = in->n_matchers};
	CLEANUP(rows_fini) struct rows rows = {.texts = NULL};
	Querier__V1__SeriesResponse *out;
	int r = querier_range(c, in->start, in->end, &q.range, err);

	if (r == 0)
		r = ask(c, &q, &rows, err);
	if (r < 0)
		return r;
	out = querier_alloc(c, 1, sizeof(*out), &r);
	if (!out)
		return r;
	querier__v1__series_response__init(out);
	out->labels_set = querier_alloc(c, intern_count(rows.texts), sizeof(*out->labels_set), &r);
	for (uint32_t id = 1; r == 0 && id < intern_count(rows.texts); id++)
		r = add_labels(c, &q, &rows, id, &out->labels_set[out->n_labels_set++]);
	*ret = &out->base;
	return r;
}

/* ---- types ---- */

static int make_type(struct querier_call *c, const char *id, size_t len,
		     Querier__V1__ProfileType **ret)
{
	int r = 0;
	Querier__V1__ProfileType *t = querier_alloc(c, 1, sizeof(*t), &r);
	char **parts[PROFILE_ID_PARTS];

	if (!t)
		return r;
	querier__v1__profile_type__init(t);
	r = querier_text(c, id, len, &t->id);
	parts[0] = &t->name;
	parts[1] = &t->sample_type;
	parts[2] = &t->sample_unit;
	parts[3] = &t->period_type;
	parts[4] = &t->period_unit;
	for (unsigned i = 0; r == 0 && i < PROFILE_ID_PARTS; i++) {
		const char *part;
		size_t part_len;

		profile_id_part(t->id, i, &part, &part_len);
		r = querier_text(c, part, part_len, parts[i]);
	}
	*ret = t;
	return r;
}

int querier_profile_types(struct querier_call *c, const ProtobufCMessage *request,
			  ProtobufCMessage **ret, struct err *err)
{
	static const char *const labels[] = {LABEL_SQL_PROFILE_TYPE};
	const Querier__V1__ProfileTypesRequest *in = (const void *)request;
	struct question q = {.labels = labels, .n_labels = 1};
	CLEANUP(rows_fini) struct rows rows = {.texts = NULL};
	Querier__V1__ProfileTypesResponse *out;
	int r = querier_range(c, in->start, in->end, &q.range, err);

	if (r == 0)
		r = ask(c, &q, &rows, err);
	if (r < 0)
		return r;
	out = querier_alloc(c, 1, sizeof(*out), &r);
	if (!out)
		return r;
	querier__v1__profile_types_response__init(out);
	out->profile_types =
		querier_alloc(c, intern_count(rows.texts), sizeof(*out->profile_types), &r);
	for (uint32_t id = 1; r == 0 && id < intern_count(rows.texts); id++) {
		size_t len;
		const char *text = intern_get(rows.texts, id, &len);

		r = make_type(c, text, len, &out->profile_types[out->n_profile_types++]);
	}
	*ret = &out->base;
	return r;
}

/* ---- statistics ---- */

/* Of the last year; the oldest time is that of the first profile that is kept. */
int querier_profile_stats(struct querier_call *c, const ProtobufCMessage *request,
			  ProtobufCMessage **ret, struct err *err)
{
	const int64_t year_ms = INT64_C(366) * 86400 * 1000;
	struct query_filter range;
	const struct application_question question = {.range = &range};
	struct application_list apps;
	Querier__V1__GetProfileStatsResponse *out;
	int64_t oldest_ns = INT64_MAX;
	int r = querier_range(c, c->now_ms - year_ms, c->now_ms, &range, err);

	(void)request;
	if (r == 0)
		r = application_query(c->store, &question, &apps, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < apps.n_items; i++)
		if (apps.items[i].first_seen_ns < oldest_ns)
			oldest_ns = apps.items[i].first_seen_ns;
	out = querier_alloc(c, 1, sizeof(*out), &r);
	if (out) {
		querier__v1__get_profile_stats_response__init(out);
		out->data_ingested = apps.last_seen_ns > 0;
		out->newest_profile_time = apps.last_seen_ns / (int64_t)NS_PER_MS;
		if (apps.n_items > 0)
			out->oldest_profile_time = oldest_ns / (int64_t)NS_PER_MS;
		*ret = &out->base;
	}
	application_list_fini(&apps);
	return r;
}

/* Settings and feature flags: always empty. */
int querier_empty(struct querier_call *c, const ProtobufCMessage *request, ProtobufCMessage **ret,
		  struct err *err)
{
	int r = 0;
	Querier__V1__Empty *out = querier_alloc(c, 1, sizeof(*out), &r);

	(void)request, (void)err;
	if (!out)
		return r;
	querier__v1__empty__init(out);
	*ret = &out->base;
	return 0;
}
