#include "cluster-agent/query/read/profile_source.h"

#include "common/system/clock.h"

#define MAX_ANSWER_BYTES ((size_t)1 << 16)
/* Samples are stored before the profile's row. */
#define LATE_NS (UINT64_C(600) * NS_PER_S)
/* Of shorter ranges, samples of all profiles are read faster than the projections of many parts. */
#define SHORT_NS (INT64_C(3) * SCHEMA_HOUR_NS)

#define SQL_KNOWN                                                                       \
	"SELECT count(), countIf(LabelSet = 0), min(a), max(b), "                       \
	"toUInt64(sum(b - a) / greatest(max(b) - min(a), 1)) FROM (SELECT LabelSet, "   \
	"toUnixTimestamp64Nano(min(Start)) AS a, "                                      \
	"toUnixTimestamp64Nano(max(Start)) AS b FROM ${quality} WHERE " PROFILE_OF_TYPE \
	" AND " SCHEMA_START_HOUR " <= {last_hour:UInt64}"                              \
	" AND " SCHEMA_END_HOUR " >= {first_hour:UInt64} GROUP BY LabelSet)"
/* Whether there are samples before the first and after the last profile that is known. */
#define SQL_SAMPLE "SELECT 1 FROM ${samples} WHERE " PROFILE_OF_TYPE " AND ${range} AND "
#define SQL_OTHERS                                                                               \
	"SELECT count() FROM (" SQL_SAMPLE                                                       \
	"Start < fromUnixTimestamp64Nano(toInt64({first:UInt64})) LIMIT 1 UNION ALL " SQL_SAMPLE \
	"Start > fromUnixTimestamp64Nano(toInt64({last:UInt64})) LIMIT 1)"

static uint64_t hour_of(int64_t ns)
{
	return ns > 0 ? (uint64_t)(ns / SCHEMA_HOUR_NS) : 0;
}

static uint64_t day_of(int64_t ns)
{
	return ns > 0 ? (uint64_t)(ns / SCHEMA_DAY_NS) : 0;
}

void profile_source_bind(struct bound_query *q, const struct query_filter *f)
{
	const uint64_t head = hour_of(f->from_ns) + 1, tail = hour_of(f->to_ns);

	bound_query_add_uint(q, "head_hour", head);
	bound_query_add_uint(q, "tail_hour", tail);
	bound_query_add_uint(q, "head", head * SCHEMA_HOUR_NS);
	bound_query_add_uint(q, "tail", tail * SCHEMA_HOUR_NS);
	bound_query_add_uint(q, "first_hour", hour_of(f->from_ns - SCHEMA_HOUR_NS));
	bound_query_add_uint(q, "last_hour", tail + 1);
	bound_query_add_uint(q, "first_day", day_of(f->from_ns));
	bound_query_add_uint(q, "last_day", day_of(f->to_ns));
}

/* What profiling_quality knows of the range. */
struct known {
	uint64_t n_sets;
	uint64_t n_without_labels; /* of them */
	int64_t first_ns;          /* when its first and last profile began */
	int64_t last_ns;
	uint64_t n_sets_at_once;
};

static int ask_known(struct store *store, const struct query_filter *f, struct known *ret,
		     struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader reader;
	int r;

	bound_query_init(&q, store, f, MAX_ANSWER_BYTES);
	profile_source_bind(&q, f);
	bound_query_add_sql(&q, f, SQL_KNOWN);
	r = bound_query_run(&q, err);
	if (r < 0)
		return r;
	rowbinary_reader_init(&reader, q.answer.data, q.answer.len);
	ret->n_sets = rowbinary_get_u64(&reader);
	ret->n_without_labels = rowbinary_get_u64(&reader);
	ret->first_ns = rowbinary_get_i64(&reader);
	ret->last_ns = rowbinary_get_i64(&reader);
	ret->n_sets_at_once = rowbinary_get_u64(&reader);
	return bound_query_check(&reader, err);
}

static int ask_others(struct store *store, const struct query_filter *f, const struct known *known,
		      uint64_t *ret_n, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader reader;
	int r;

	bound_query_init(&q, store, f, MAX_ANSWER_BYTES);
	bound_query_add_uint(&q, "first", known->first_ns > 0 ? (uint64_t)known->first_ns : 0);
	bound_query_add_uint(&q, "last",
			     known->last_ns > 0 ? (uint64_t)known->last_ns + LATE_NS : 0);
	bound_query_add_sql(&q, f, SQL_OTHERS);
	r = bound_query_run(&q, err);
	if (r < 0)
		return r;
	rowbinary_reader_init(&reader, q.answer.data, q.answer.len);
	*ret_n = rowbinary_get_u64(&reader);
	return bound_query_check(&reader, err);
}

static int find_source(struct store *store, const struct query_filter *f,
		       struct profile_source *ret, struct err *err)
{
	struct known known = {0};
	uint64_t n_others = 0;
	int r = ask_known(store, f, &known, err);

	/* known from before the range to its end: the common case */
	if (r == 0 && known.n_sets > 0 &&
	    (known.first_ns > f->from_ns || known.last_ns + (int64_t)LATE_NS < f->to_ns))
		r = ask_others(store, f, &known, &n_others, err);
	if (r < 0)
		return r;
	*ret = (struct profile_source){
		.is_known = true,
		.has_all = known.n_sets > 0 && n_others == 0,
		.has_labels = known.n_without_labels == 0,
		.n_sets = known.n_sets_at_once,
	};
	return 0;
}

int profile_source_is_whole(struct store *store, const struct query_filter *f, bool labels,
			    bool *ret, struct err *err)
{
	struct profile_source own = {0}, *s = f->source ? f->source : &own;
	int r = 0;

	*ret = false;
	if (!query_filter_is_set(f) && f->to_ns - f->from_ns < SHORT_NS)
		return 0;
	if (!s->is_known)
		r = find_source(store, f, s, err);
	*ret = s->has_all && (s->has_labels || (!labels && !query_filter_is_set(f)));
	return r;
}
