/*
 * The stacks of a service with their values: first the largest STACK_QUERY_MAX_STACKS by value,
 * then their frames from profiling_stacks. The join with that table comes last, as frames are
 * most of the bytes and the stacks that the limit cuts need none.
 *
 * Two kinds of values. What adds up (CPU time, allocations) is summed over the profiles that
 * overlap the range. A level (memory in use, goroutines) is averaged over time: each value
 * counts for as long as its window overlaps the range, and the sum is divided by the time that
 * is covered by any profile, which a query of its own finds out first.
 *
 * A second query reads how much is missing (profiling_quality), so that a flame graph says how
 * much of the truth it is.
 */
#include "cluster-agent/query/stack_query.h"

#include <errno.h>

#include "cluster-agent/query/profile_types.h"
#include "cluster-agent/query/timeline_query.h"
#include "cluster-agent/store/rowbinary.h"
#include "common/data/hash.h"

#define MAX_ANSWER_BYTES ((size_t)256 << 20)
#define MAX_QUALITY_BYTES ((size_t)1 << 20)

/*
 * Every row carries the number and the sum of all stacks beside its own value, so that value_cut is
 * consistent with the rows: rows that arrive between two queries would falsify it.
 */
#define SQL_VALUES_SUM "SELECT StackHash, toFloat64(0) AS w, sum(Value) AS v"
#define SQL_VALUES_AVG                                                                      \
	"SELECT StackHash, sum(toFloat64(Value) * ${overlap_ns}) / {covered:UInt64} AS w, " \
	"toInt64(round(w)) AS v"
#define SQL_VALUES " FROM ${samples} WHERE ${which} GROUP BY StackHash HAVING v > 0"
#define SQL_TOP                                                                             \
	" SELECT StackHash, v, count() OVER () AS n, sum(v) OVER () AS total FROM samples " \
	"ORDER BY v DESC, StackHash LIMIT {max:UInt64}"
#define SQL_STACKS                                                                                \
	") SELECT t.StackHash, t.v, t.n, t.total, s.Stack FROM top AS t LEFT JOIN ("              \
	"SELECT Hash, any(Stack) AS Stack FROM ${stacks} "                                        \
	"WHERE ServiceName = {service:String} "                                                   \
	"AND LastSeen > fromUnixTimestamp64Nano({from:Int64}) "                                   \
	"AND Hash ${in} (SELECT StackHash FROM top) GROUP BY Hash) AS s ON t.StackHash = s.Hash " \
	"ORDER BY t.v DESC, t.StackHash"

/*
 * A node reports its lost samples in each of its profiles of an interval, so of the rows of one
 * host and window only one counts.
 */
#define SQL_QUALITY                                                                         \
	"SELECT sum(samples), sum(truncated), sumMap(mapKeys(lost), mapValues(lost)) FROM " \
	"(SELECT sum(Samples) AS samples, sum(Truncated) AS truncated, any(Lost) AS lost "  \
	"FROM ${quality} WHERE ServiceName = {service:String} "                             \
	"AND Type = {type:String} AND ${range} GROUP BY Host, Start, End)"

struct frames {
	struct flame_frame *items;
	size_t max;
};

static void frames_fini(struct frames *f)
{
	free(f->items);
}

static int read_frames(struct rowbinary_reader *r, struct frames *f, size_t *ret_n)
{
	uint64_t n = rowbinary_get_count(r);

	if (n > f->max) {
		void *moved = realloc(f->items, n * sizeof(*f->items));

		if (!moved)
			return -ENOMEM;
		f->items = moved;
		f->max = n;
	}
	for (uint64_t i = 0; i < n; i++)
		f->items[i].text = rowbinary_get_string(r, &f->items[i].len);
	*ret_n = n;
	return 0;
}

struct row {
	uint64_t hash;
	int64_t value;
	uint64_t n_all;
	int64_t total;
	size_t n_frames;
};

static int read_row(struct rowbinary_reader *r, struct frames *f, struct row *ret)
{
	ret->hash = rowbinary_get_u64(r);
	ret->value = rowbinary_get_i64(r);
	ret->n_all = rowbinary_get_u64(r);
	ret->total = rowbinary_get_i64(r);
	return read_frames(r, f, &ret->n_frames);
}

static int read_stacks(struct bound_query *q, stack_query_fn fn, void *ctx,
		       struct stack_query_result *ret, struct err *err)
{
	static const struct flame_frame missing = {STACK_QUERY_MISSING,
						   sizeof(STACK_QUERY_MISSING) - 1};
	CLEANUP(frames_fini) struct frames frames = {0};
	struct rowbinary_reader r;
	uint64_t n_read = 0;
	int64_t sum = 0;

	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r)) {
		struct row row;
		int e = read_row(&r, &frames, &row);
		bool absent;

		if (e < 0)
			return e;
		if (rowbinary_reader_finish(&r) < 0)
			break;
		absent = row.n_frames == 0 && row.hash != FNV1A64_INIT;
		e = fn(ctx, absent ? &missing : frames.items, absent ? 1 : row.n_frames, row.value);
		if (e < 0)
			return e;
		n_read++;
		sum += row.value;
		ret->n_stacks = row.n_all;
		ret->value_cut = row.total - sum;
	}
	ret->n_stacks_cut = ret->n_stacks - n_read;
	return bound_query_check(&r, err);
}

static int add_value_sql(struct bound_query *q, struct store *store, const struct query_filter *f,
			 struct err *err)
{
	double covered_ns = 0;
	int r;

	if (profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM)
		return bound_query_add_sql(q, f, "WITH samples AS (" SQL_VALUES_SUM SQL_VALUES);
	r = timeline_query_covered(store, f, &covered_ns, err);
	if (r == 0)
		r = bound_query_add_uint(q, "covered", covered_ns > 1 ? (uint64_t)covered_ns : 1);
	if (r == 0)
		r = bound_query_add_sql(q, f, "WITH samples AS (" SQL_VALUES_AVG SQL_VALUES);
	return r;
}

static int query_stacks(struct store *store, const struct query_filter *f, stack_query_fn fn,
			void *ctx, struct stack_query_result *ret, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	int r = bound_query_init(&q, store, f, MAX_ANSWER_BYTES);

	if (r == 0)
		r = bound_query_add_uint(&q, "max", STACK_QUERY_MAX_STACKS);
	if (r == 0)
		r = add_value_sql(&q, store, f, err);
	if (r == 0)
		r = bound_query_add_sql(&q, f, "), top AS (" SQL_TOP SQL_STACKS);
	if (r == 0)
		r = bound_query_run(&q, err);
	return r == 0 ? read_stacks(&q, fn, ctx, ret, err) : r;
}

/* A pair of arrays: names, then as many counts. */
static void read_reasons(struct rowbinary_reader *r, struct stack_query_result *ret)
{
	uint64_t n = rowbinary_get_count(r);

	for (uint64_t i = 0; i < n; i++) {
		size_t len;
		const char *name = rowbinary_get_string(r, &len);
		struct stack_query_reason *reason = &ret->reasons[ret->n_reasons];

		if (i >= STACK_QUERY_MAX_REASONS)
			continue;
		len = len < sizeof(reason->name) ? len : sizeof(reason->name) - 1;
		memcpy(reason->name, name, len);
		reason->name[len] = '\0';
		ret->n_reasons++;
	}
	if (rowbinary_get_count(r) != n && r->error == 0)
		r->error = -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t count = rowbinary_get_u64(r);

		ret->n_lost += count;
		if (i < ret->n_reasons)
			ret->reasons[i].count = count;
	}
}

static int query_quality(struct store *store, const struct query_filter *f,
			 struct stack_query_result *ret, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader reader;
	int r = bound_query_ask(&q, store, f, MAX_QUALITY_BYTES, SQL_QUALITY, err);

	if (r < 0)
		return r;
	rowbinary_reader_init(&reader, q.answer.data, q.answer.len);
	ret->n_samples = rowbinary_get_u64(&reader);
	ret->n_truncated = rowbinary_get_u64(&reader);
	read_reasons(&reader, ret);
	return bound_query_check(&reader, err);
}

int stack_query(struct store *store, const struct query_filter *f, stack_query_fn fn, void *ctx,
		struct stack_query_result *ret, struct err *err)
{
	int r;

	*ret = (struct stack_query_result){0};
	r = query_stacks(store, f, fn, ctx, ret, err);
	return r == 0 ? query_quality(store, f, ret, err) : r;
}
