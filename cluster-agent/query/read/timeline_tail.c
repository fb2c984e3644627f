/*
 * Agents send a profile a minute, each at its own second, and what is scraped or pushed comes from
 * each instance at its own. So the last minute of a service on several nodes lacks those that have
 * yet to report, and looks like a drop in usage. An agent whose newest profile ended one and a half
 * of its profiles before the newest of all is not waited for: nothing of the service runs there any
 * more.
 */
#include "cluster-agent/query/read/timeline_tail.h"

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/store/projections.h"
#include "common/system/clock.h"

#define MAX_ANSWER_BYTES ((size_t)1 << 10)
/* Profiles are a minute long, or --profile-interval, and arrive seconds later. */
#define TAIL_NS (INT64_C(600) * (int64_t)NS_PER_S)

#define SQL_COMPLETE(where, host)                                                      \
	"SELECT min(e), max(e) FROM (SELECT e, length, max(e) OVER () AS newest FROM " \
	"(SELECT max(" SCHEMA_END ") AS e, argMax(${window_ns}, End) AS length "       \
	"FROM " where " GROUP BY " host ")) WHERE 2 * (newest - e) <= 3 * length"
#define SQL_COMPLETE_HOSTS SQL_COMPLETE("${samples} WHERE ${which}", "${host}")
#define SQL_COMPLETE_INSTANCES SQL_COMPLETE("${samples} WHERE ${which}", "${host}, ${id}")
#define ALL "${quality} WHERE ${range} AND Type IN (${gapless_cpu_types})"
#define SQL_COMPLETE_ALL SQL_COMPLETE(ALL, "Host")
#define SQL_COMPLETE_SERVICE SQL_COMPLETE(ALL " AND ServiceName = {service:String}", "Host")

static int ask(struct store *store, const struct query_filter *f, const char *sql, int64_t *ret_ns,
	       struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q = {0};
	struct query_filter tail = *f;
	struct rowbinary_reader r;
	int64_t oldest_ns, newest_ns;
	int e;

	*ret_ns = 0;
	if (f->to_ns + TAIL_NS < (int64_t)clock_realtime_ns())
		return 0;
	if (tail.from_ns < tail.to_ns - TAIL_NS)
		tail.from_ns = tail.to_ns - TAIL_NS;
	e = bound_query_ask(&q, store, &tail, MAX_ANSWER_BYTES, sql, err);
	if (e < 0)
		return e;
	rowbinary_reader_init(&r, q.answer.data, q.answer.len);
	oldest_ns = rowbinary_get_i64(&r);
	newest_ns = rowbinary_get_i64(&r);
	*ret_ns = oldest_ns < newest_ns ? oldest_ns : 0;
	return bound_query_check(&r, err);
}

int timeline_query_complete(struct store *store, const struct query_filter *f, int64_t *ret_ns,
			    struct err *err)
{
	const bool by_host = profile_type_get(f->type)->node_agent;

	return ask(store, f, by_host ? SQL_COMPLETE_HOSTS : SQL_COMPLETE_INSTANCES, ret_ns, err);
}

int timeline_query_complete_all(struct store *store, const struct query_filter *f, int64_t *ret_ns,
				struct err *err)
{
	const char *sql = f->service ? SQL_COMPLETE_SERVICE : SQL_COMPLETE_ALL;

	return ask(store, f, sql, ret_ns, err);
}
