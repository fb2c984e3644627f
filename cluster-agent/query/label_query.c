/*
 * Labels of a selection and their values, which a reader can filter or compare by, ordered by their
 * share of the selection's value. There are far fewer sets of labels than profiles or samples, so
 * these are added up by set first.
 */
#include "cluster-agent/query/label_query.h"

#include <errno.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/query/read/profile_source.h"
#include "cluster-agent/query/read/profile_types.h"
#include "common/text/json_writer.h"

#define MAX_ANSWER_BYTES ((size_t)32 << 20)
#define MAX_VALUES 100u
#define MAX_VALUES_OF_ONE 1000u
#define MAX_ROWS 50000u

#define SQL_SETS(weight)                                                              \
	"WITH sums AS (SELECT mapKeys(Labels) AS names, mapValues(Labels) AS texts, " \
	"sum(toFloat64(Value) * " weight ") AS w FROM ${samples} WHERE ${which} "     \
	"GROUP BY names, texts), "
#define SQL_SETS_OF(values)                                                                       \
	"WITH sums AS (SELECT mapKeys(Labels) AS names, mapValues(Labels) AS texts, sum(w) AS w " \
	"FROM " values " WHERE ${filter} GROUP BY names, texts), "
#define SQL_PAIRS                                                                    \
	"sets AS (SELECT names, texts, w, sum(w) OVER () AS total FROM sums), "      \
	"pairs AS (SELECT name, text, sum(w) / greatest(any(total), 1e-9) AS share " \
	"FROM sets ARRAY JOIN names AS name, texts AS text WHERE text != ''"
#define SQL_OF_ONE " AND name = {label:String}"
#define SQL_RANKED                                                                     \
	" GROUP BY name, text), "                                                      \
	"ranked AS (SELECT name, text, share, count() OVER (PARTITION BY name) AS n, " \
	"row_number() OVER (PARTITION BY name ORDER BY share DESC, text) AS place "    \
	"FROM pairs) "                                                                 \
	"SELECT name, text, share, n FROM ranked WHERE place <= {max:UInt64} "         \
	"ORDER BY name, place LIMIT {rows:UInt64}"

static int ask(struct bound_query *q, const struct query_filter *f, const char *label,
	       struct err *err)
{
	bool sum = profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM;
	bool one = label && label[0], whole = false;
	int r = profile_source_is_whole(q->store, f, true, &whole, err);

	if (r < 0)
		return r;
	profile_source_bind(q, f);
	bound_query_add_uint(q, "max", one ? MAX_VALUES_OF_ONE : MAX_VALUES);
	bound_query_add_uint(q, "rows", MAX_ROWS);
	if (one)
		bound_query_add_text(q, "label", label);
	if (whole)
		bound_query_add_sql(
			q, f, sum ? SQL_SETS_OF(PROFILE_VALUES) : SQL_SETS_OF(PROFILE_INTEGRALS));
	else
		bound_query_add_sql(q, f, sum ? SQL_SETS("1") : SQL_SETS("${overlap_ns}"));
	bound_query_add_sql(q, f, SQL_PAIRS);
	if (one)
		bound_query_add_sql(q, f, SQL_OF_ONE);
	bound_query_add_sql(q, f, SQL_RANKED);
	return bound_query_run(q, err);
}

struct row {
	const char *name;
	size_t name_len;
	const char *text;
	size_t text_len;
	double share;
	uint64_t n;
};

static void read_row(struct rowbinary_reader *r, struct row *ret)
{
	ret->name = rowbinary_get_string(r, &ret->name_len);
	ret->text = rowbinary_get_string(r, &ret->text_len);
	ret->share = rowbinary_get_f64(r);
	ret->n = rowbinary_get_u64(r);
}

static void open_label(struct json_writer *w, const struct row *row)
{
	json_open(w, '{');
	json_key(w, "name");
	json_put_string(w, row->name, row->name_len);
	json_key(w, "n");
	json_put_int(w, (int64_t)row->n);
	json_key(w, "values");
	json_open(w, '[');
}

static void close_label(struct json_writer *w)
{
	json_close(w, ']');
	json_close(w, '}');
}

static void put_value(struct json_writer *w, const struct row *row)
{
	json_open(w, '{');
	json_key(w, "value");
	json_put_string(w, row->text, row->text_len);
	json_key(w, "share");
	json_put_double(w, row->share);
	json_close(w, '}');
}

/* The rows of one label are consecutive. */
static int write_labels(struct json_writer *w, const struct bound_query *q, struct err *err)
{
	struct row last = {.name = NULL};
	struct rowbinary_reader r;

	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r)) {
		struct row row;

		read_row(&r, &row);
		if (rowbinary_reader_finish(&r) < 0)
			break;
		if (!last.name || row.name_len != last.name_len ||
		    memcmp(row.name, last.name, row.name_len) != 0) {
			if (last.name)
				close_label(w);
			open_label(w, &row);
		}
		put_value(w, &row);
		last = row;
	}
	if (last.name)
		close_label(w);
	return bound_query_check(&r, err);
}

int profile_query_labels(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct json_writer w;
	int r;

	bound_query_init(&q, store, &p->filter, MAX_ANSWER_BYTES);
	r = ask(&q, &p->filter, p->label, err);
	if (r < 0)
		return r;
	json_writer_init(&w, out);
	json_open(&w, '{');
	json_key(&w, "labels");
	json_open(&w, '[');
	r = write_labels(&w, &q, err);
	json_close(&w, ']');
	json_close(&w, '}');
	return r < 0 ? r : json_writer_finish(&w);
}

int label_query_largest(struct store *store, const struct query_filter *f, const char *label,
			char *ret, size_t size, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader rows;
	bool is_found = false;
	int r;

	bound_query_init(&q, store, f, MAX_ANSWER_BYTES);
	r = ask(&q, f, label, err);
	if (r < 0)
		return r;
	rowbinary_reader_init(&rows, q.answer.data, q.answer.len);
	while (!is_found && rowbinary_has_more(&rows)) {
		struct row row;

		read_row(&rows, &row);
		is_found = row.text_len < size && rowbinary_reader_finish(&rows) == 0;
		if (is_found)
			snprintf(ret, size, "%.*s", (int)row.text_len, row.text);
	}
	r = bound_query_check(&rows, err);
	return r < 0 ? r : is_found;
}
