#include "cluster-agent/query/read/profile_length.h"

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/profile_source.h"
#include "cluster-agent/query/read/profile_types.h"

#define MAX_ANSWER_BYTES ((size_t)1 << 16)

/* By instance: from each start to the next one on average, and the mean length. */
#define SQL_MEANS                                                                 \
	" AS key, uniqExact(Start) AS n, toFloat64(" START_LAST " - " START_FIRST \
	") / greatest(n - 1, 1) AS apart, avg(" SCHEMA_END " - " SCHEMA_START ") AS length FROM "
#define START_FIRST "toUnixTimestamp64Nano(min(Start))"
#define START_LAST "toUnixTimestamp64Nano(max(Start))"
#define SQL_OF_PROFILES \
	"tuple(Host, Instance)" SQL_MEANS "${quality} WHERE " PROFILE_OF_TYPE " AND ${range}"
#define SQL_OF_SETS " AND " PROFILE_OF_SETS
#define SQL_OF_SAMPLES \
	"tuple(ServiceName, ${id}, ${host}, Labels['port'])" SQL_MEANS "${samples} WHERE ${which}"
#define SQL_MEDIAN                                                                         \
	"SELECT ifNotFinite(quantileExact(0.5)(if({held:UInt8}, greatest(length, apart), " \
	"length)), 0) FROM (SELECT "

static void add_query(struct bound_query *q, const struct query_filter *f, bool whole)
{
	/* profiles of the node agent cover all of the time that a process runs */
	bound_query_add_uint(q, "held", !profile_type_get(f->type)->node_agent);
	bound_query_add_sql(q, f, SQL_MEDIAN);
	profile_source_bind(q, f);
	bound_query_add_sql(q, f, whole ? SQL_OF_PROFILES : SQL_OF_SAMPLES);
	if (whole && query_filter_is_set(f))
		bound_query_add_sql(q, f, SQL_OF_SETS);
	bound_query_addf(q, " GROUP BY key)");
}

int profile_length_query(struct store *store, const struct query_filter *f, double *ret_ns,
			 struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q = {0};
	struct rowbinary_reader reader;
	bool whole = false;
	int r = profile_source_is_whole(store, f, false, &whole, err);

	if (r < 0)
		return r;
	bound_query_init(&q, store, f, MAX_ANSWER_BYTES);
	add_query(&q, f, whole);
	r = bound_query_run(&q, err);
	if (r < 0)
		return r;
	rowbinary_reader_init(&reader, q.answer.data, q.answer.len);
	*ret_ns = rowbinary_get_f64(&reader);
	return bound_query_check(&reader, err);
}
