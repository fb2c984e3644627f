#include "cluster-agent/query/read/value_counts.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/profile_source.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)

/* One row (name, stop, v) per profile; of samples, each profile has as many as it has stacks. */
#define SQL_OF_PROFILES                                            \
	" AS name, " SCHEMA_END " AS stop, toFloat64(Value) AS v " \
	"FROM ${quality} WHERE " PROFILE_OF_TYPE " AND ${range} AND ${filter}) "
#define SQL_OF_SAMPLES                                                                \
	" AS name, " SCHEMA_END " AS stop, sum(toFloat64(Value)) AS v "               \
	"FROM ${samples} WHERE ${which} GROUP BY name, ServiceName, ${id}, ${host}, " \
	"Labels['port'], Labels['container.id'], Start, stop) "
#define SQL_BOUNDS "SELECT if(count() > 0, min(v), inf), if(count() > 0, max(v), -inf) FROM own"
#define SQL_COUNTS                                                                                \
	"SELECT name, toUInt32(least(intDiv(toUInt64(stop - {from:Int64} - 1), {step:UInt64}), "  \
	"{last:UInt64})) AS at, toUInt32(least(toUInt64(greatest(floor((v - "                     \
	"{bounds:Array(Float64)}[1]) "                                                            \
	"/ {bounds:Array(Float64)}[2]), 0)), {top:UInt64})) AS bucket, count(), sum(v) FROM own " \
	"WHERE name IN (SELECT name FROM own GROUP BY name ORDER BY sum(v) DESC, name "           \
	"LIMIT {max:UInt64}) GROUP BY name, at, bucket"

/* Appends the profiles as a table "own". */
static int add_profiles(struct bound_query *q, const struct query_filter *f,
			const char *const *labels, size_t n_labels, struct err *err)
{
	bool whole = false;
	int r = profile_source_is_whole(q->store, f, n_labels > 0, &whole, err);

	if (r < 0)
		return r;
	profile_source_bind(q, f);
	if (n_labels > 0)
		bound_query_bind_by(q, NULL, labels, n_labels);
	bound_query_addf(q, "WITH own AS (SELECT ");
	bound_query_add_sql(q, f, n_labels > 0 ? "${by}" : "''");
	bound_query_add_sql(q, f, whole ? SQL_OF_PROFILES : SQL_OF_SAMPLES);
	return 0;
}

int value_bounds_query(struct store *store, const struct query_filter *f,
		       struct value_bounds *bounds, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader reader;
	int r;

	bound_query_init(&q, store, f, MAX_ANSWER_BYTES);
	r = add_profiles(&q, f, NULL, 0, err);
	bound_query_add_sql(&q, f, SQL_BOUNDS);
	if (r == 0)
		r = bound_query_run(&q, err);
	if (r < 0)
		return r;
	rowbinary_reader_init(&reader, q.answer.data, q.answer.len);
	bounds->least = fmin(bounds->least, rowbinary_get_f64(&reader));
	bounds->most = fmax(bounds->most, rowbinary_get_f64(&reader));
	return bound_query_check(&reader, err);
}

static void add_counts(struct bound_query *q, const struct query_filter *f,
		       const struct value_counts_form *form)
{
	const double height = (form->bounds.most - form->bounds.least) / VALUE_COUNTS_BUCKETS;
	const double bounds[] = {form->bounds.least, height};

	bound_query_add_doubles(q, "bounds", bounds, ARRAY_SIZE(bounds));
	bound_query_add_uint(q, "step", (uint64_t)form->step_ns);
	bound_query_add_uint(q, "last", form->n_steps - 1);
	bound_query_add_uint(q, "top", VALUE_COUNTS_BUCKETS - 1);
	bound_query_add_uint(q, "max", form->max_names);
	bound_query_add_sql(q, f, SQL_COUNTS);
}

static int read_counts(const struct buf *answer, const struct value_counts_form *form,
		       value_count_fn fn, void *ctx, struct err *err)
{
	struct rowbinary_reader reader;
	int r = 0;

	rowbinary_reader_init(&reader, answer->data, answer->len);
	while (r == 0 && rowbinary_has_more(&reader)) {
		struct value_count c;

		c.name = rowbinary_get_string(&reader, &c.name_len);
		c.step = rowbinary_get_u32(&reader);
		c.bucket = rowbinary_get_u32(&reader);
		c.n = rowbinary_get_u64(&reader);
		c.sum = rowbinary_get_f64(&reader);
		if (rowbinary_reader_finish(&reader) < 0 || c.step >= form->n_steps ||
		    c.bucket >= VALUE_COUNTS_BUCKETS)
			return err_set(err, -EBADMSG, "unexpected answer of the store");
		r = fn(ctx, &c);
	}
	return r < 0 ? r : bound_query_check(&reader, err);
}

int value_counts_query(struct store *store, const struct query_filter *f,
		       const struct value_counts_form *form, value_count_fn fn, void *ctx,
		       struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	bound_query_init(&q, store, f, MAX_ANSWER_BYTES);
	r = add_profiles(&q, f, form->labels, form->n_labels, err);
	add_counts(&q, f, form);
	if (r == 0)
		r = bound_query_run(&q, err);
	return r == 0 ? read_counts(&q.answer, form, fn, ctx, err) : r;
}
