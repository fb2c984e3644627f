/*
 * Starts are stored with the profile that has a stack's row, which is up to an hour older than the
 * samples that refer to it (upload_rows.c). So the range begins that much earlier.
 */
#include "cluster-agent/query/read/start_query.h"

#include <errno.h>

#include "cluster-agent/query/read/bound_query.h"
#include "common/system/clock.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
#define EARLIER_NS ((int64_t)(2 * 3600) * (int64_t)NS_PER_S)

#define SQL                                                                                  \
	"SELECT start.1, argMax(start.2, Start) FROM ${quality} "                            \
	"ARRAY JOIN arrayZip(mapKeys(Starts), mapValues(Starts)) AS start "                  \
	"WHERE ServiceName = {service:String} AND "                                          \
	"Start < fromUnixTimestamp64Nano({to:Int64}) AND "                                   \
	"End > fromUnixTimestamp64Nano({from:Int64}) AND notEmpty(Starts) GROUP BY start.1 " \
	"LIMIT 1000000"

int start_query(struct store *store, const struct query_filter *f, start_query_fn *fn, void *ctx,
		struct err *err)
{
	struct query_filter earlier = *f;
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader r;
	int e;

	earlier.from_ns = f->from_ns > EARLIER_NS ? f->from_ns - EARLIER_NS : 0;
	e = bound_query_ask(&q, store, &earlier, MAX_ANSWER_BYTES, SQL, err);
	if (e < 0)
		return e;
	rowbinary_reader_init(&r, q.answer.data, q.answer.len);
	while (e == 0 && rowbinary_has_more(&r)) {
		size_t len = 0;
		const char *key = rowbinary_get_string(&r, &len);
		uint64_t line = rowbinary_get_u64(&r);

		if (rowbinary_reader_finish(&r) < 0)
			break;
		e = fn(ctx, key, len, line);
	}
	return e < 0 ? e : bound_query_check(&r, err);
}
