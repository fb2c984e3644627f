#include "cluster-agent/query/read/label_sets.h"

#include <errno.h>

#include "cluster-agent/query/read/profile_source.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/timeline.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
/* UInt64 set, three lengths, two UInt8 */
#define SET_BYTES 13u

#define SQL_LABELS "SELECT LabelSet, ${id}, ${host}, "
#define SQL_CHOSEN ", toUInt8(${filter})"
#define SQL_OF_DAYS " FROM " PROFILE_SETS
/* The parts of profiles that are within the range: of sums, and of levels times their length. */
#define SQL_VALUES(inner, edge) PROFILE_ALL_OF("LabelSet", inner, edge)

static bool has_instance(const struct query_filter *f)
{
	return f->instance && f->instance[0];
}

bool label_set_is_of(const struct label_set *s, const struct query_filter *f)
{
	return has_instance(f) ? s->is_chosen : s->is_listed;
}

static void add_labels(struct bound_query *q, const struct query_filter *f,
		       const struct timeline_by *by)
{
	struct query_filter all = *f;

	all.instance = NULL;
	profile_source_bind(q, f);
	if (by)
		bound_query_bind_by(q, by->label, by->labels, by->n_labels);
	bound_query_add_sql(q, f, by ? SQL_LABELS "${by}" : SQL_LABELS "''");
	bound_query_add_sql(q, f, SQL_CHOSEN);
	bound_query_add_sql(q, &all, SQL_CHOSEN);
	bound_query_add_sql(q, f, SQL_OF_DAYS);
}

static struct label_text read_text(struct rowbinary_reader *r)
{
	struct label_text t = {0};

	t.text = rowbinary_get_string(r, &t.len);
	return t;
}

static int by_hash(const void *a, const void *b)
{
	const struct label_set *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Of several services, the same set may be there several times. */
static void sort_sets(struct label_sets *s)
{
	size_t n = 0;

	if (s->n_items > 0)
		qsort(s->items, s->n_items, sizeof(*s->items), by_hash);
	for (size_t i = 0; i < s->n_items; i++)
		if (n == 0 || s->items[n - 1].hash != s->items[i].hash)
			s->items[n++] = s->items[i];
	s->n_items = n;
}

static int read_labels(struct label_sets *s, struct err *err)
{
	size_t max = s->labels.answer.len / SET_BYTES;
	struct rowbinary_reader r;

	s->items = calloc(max + 1, sizeof(*s->items));
	if (!s->items)
		return -ENOMEM;
	rowbinary_reader_init(&r, s->labels.answer.data, s->labels.answer.len);
	/* a row that is cut off is one more than max: it ends in an error of the reader */
	while (rowbinary_has_more(&r) && s->n_items <= max) {
		struct label_set *to = &s->items[s->n_items++];

		to->hash = rowbinary_get_u64(&r);
		to->id = read_text(&r);
		to->host = read_text(&r);
		to->name = read_text(&r);
		to->is_chosen = rowbinary_get_u8(&r) != 0;
		to->is_listed = rowbinary_get_u8(&r) != 0;
	}
	return bound_query_check(&r, err);
}

static int ask_labels(struct store *store, const struct query_filter *f,
		      const struct timeline_by *by, struct label_sets *s, struct err *err)
{
	int r;

	bound_query_init(&s->labels, store, f, MAX_ANSWER_BYTES);
	add_labels(&s->labels, f, by);
	r = bound_query_run(&s->labels, err);
	if (r == 0)
		r = read_labels(s, err);
	if (r == 0)
		sort_sets(s);
	s->of_instance = has_instance(f);
	return r;
}

int label_sets_find(struct store *store, const struct query_filter *f, const struct timeline_by *by,
		    struct label_sets **ret, struct err *err)
{
	struct profile_source *source = f->source;
	int r = 0;

	if (by || !source->sets || (has_instance(f) && !source->sets->of_instance)) {
		profile_source_fini(source);
		source->sets = calloc(1, sizeof(*source->sets));
		r = source->sets ? ask_labels(store, f, by, source->sets, err) : -ENOMEM;
	}
	if (r < 0)
		profile_source_fini(source);
	*ret = source->sets;
	return r;
}

static bool same(struct label_text a, struct label_text b)
{
	return a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

/* Takes rows of set and value, of which a set may have several. */
static int read_values(struct label_sets *s, const struct buf *answer, struct err *err)
{
	const struct label_set *first = NULL;
	struct rowbinary_reader r;

	rowbinary_reader_init(&r, answer->data, answer->len);
	while (rowbinary_has_more(&r)) {
		const struct label_set key = {.hash = rowbinary_get_u64(&r)};
		double value = rowbinary_get_f64(&r);
		struct label_set *set =
			s->n_items > 0 ? bsearch(&key, s->items, s->n_items, sizeof(key), by_hash)
				       : NULL;

		if (!set)
			continue;
		set->value += value;
		set->is_used = true;
	}
	for (size_t i = 0; i < s->n_items; i++) {
		const struct label_set *set = &s->items[i];

		if (!set->is_used || !set->is_listed)
			continue;
		first = first ? first : set;
		s->has_hosts |= !same(set->host, first->host);
	}
	s->has_values = true;
	return bound_query_check(&r, err);
}

int label_sets_find_values(struct store *store, const struct query_filter *f, struct label_sets *s,
			   struct err *err)
{
	const bool sum = profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM;
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	bound_query_init(&q, store, f, MAX_ANSWER_BYTES);
	if (s->has_values)
		return 0;
	profile_source_bind(&q, f);
	bound_query_add_sql(&q, f,
			    sum ? SQL_VALUES(SCHEMA_SUM, PROFILE_PART)
				: SQL_VALUES(SCHEMA_INTEGRAL, PROFILE_INTEGRAL));
	r = bound_query_run(&q, err);
	return r == 0 ? read_values(s, &q.answer, err) : r;
}

void profile_source_fini(struct profile_source *s)
{
	if (!s->sets)
		return;
	bound_query_fini(&s->sets->labels);
	free(s->sets->items);
	free(s->sets);
	s->sets = NULL;
}

static int compare_texts(struct label_text a, struct label_text b)
{
	int c = memcmp(a.text, b.text, a.len < b.len ? a.len : b.len);

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

static int by_name(const void *a, const void *b)
{
	const struct label_sum *x = a, *y = b;
	int c = compare_texts(x->name, y->name);

	return c ? c : compare_texts(x->host, y->host);
}

static int largest_first(const void *a, const void *b)
{
	const struct label_sum *x = a, *y = b;

	if (x->value > y->value || x->value < y->value)
		return x->value > y->value ? -1 : 1;
	return by_name(a, b);
}

/* What a set adds to. */
static struct label_sum sum_of(const struct label_set *s, enum label_sum_by by)
{
	static const struct label_text none = {"", 0};

	return (struct label_sum){
		.name = by == LABEL_SUM_BY_NAME ? s->name : s->id,
		.host = by == LABEL_SUM_BY_ID_AND_HOST ? s->host : none,
		.value = s->value,
	};
}

bool label_sum_has(const struct label_sum *sum, const struct label_set *s, enum label_sum_by by)
{
	struct label_sum of = sum_of(s, by);

	return same(sum->name, of.name) && same(sum->host, of.host);
}

int label_sets_sum(const struct label_sets *s, const struct query_filter *f, enum label_sum_by by,
		   struct label_sum **ret, size_t *ret_n)
{
	struct label_sum *sums = calloc(s->n_items + 1, sizeof(*sums));
	size_t n = 0, kept = 0;

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_items; i++)
		if (s->items[i].is_used && label_set_is_of(&s->items[i], f))
			sums[n++] = sum_of(&s->items[i], by);
	qsort(sums, n, sizeof(*sums), by_name);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && by_name(&sums[kept - 1], &sums[i]) == 0)
			sums[kept - 1].value += sums[i].value;
		else
			sums[kept++] = sums[i];
	}
	qsort(sums, kept, sizeof(*sums), largest_first);
	*ret = sums;
	*ret_n = kept;
	return 0;
}
