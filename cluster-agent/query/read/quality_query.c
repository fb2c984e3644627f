/*
 * A profile's row has the labels of its samples, so the filter is that of the samples. Rows of
 * earlier releases have none (LabelSet is 0). If there are some in the range, a filter would leave
 * them out as if nothing were wrong with them, so the numbers are then those of all.
 *
 * Programs are told by the node-agent's CPU profiles, whatever the type of the selection is.
 */
#include "cluster-agent/query/read/quality_query.h"

#include <errno.h>

#include "cluster-agent/query/read/bound_query.h"

#define MAX_ANSWER_BYTES ((size_t)1 << 20)
#define CPU_TYPE "ebpf:cpu:nanoseconds"

enum kind {
	KIND_SAMPLES,
	KIND_UNWINDING,
	KIND_RUNTIMES,
	KIND_MAX,
};

#define SQL_UNFILTERED                                                                            \
	"SELECT count() FROM ${quality} WHERE ${services} AND Type IN ({type:String}, '" CPU_TYPE \
	"') AND ${range} AND LabelSet = 0"

/*
 * A row of observations with what is lost, and a row of ends of walks, in any order.
 *
 * A node reports its lost samples in each of its profiles of an interval, so of the rows of one
 * host and window only one counts.
 *
 * Ends travel with each part of a profile, so of the rows of one instance and window only one
 * counts.
 */
#define SQL_SAMPLES                                                                        \
	"SELECT toUInt8(0), sum(samples), sum(truncated), "                                \
	"sumMap(mapKeys(lost), mapValues(lost)) FROM "                                     \
	"(SELECT sum(Samples) AS samples, sum(Truncated) AS truncated, any(Lost) AS lost " \
	"FROM ${quality} WHERE ${which} GROUP BY Host, Start, End) UNION ALL "             \
	"SELECT toUInt8(1), toUInt64(0), toUInt64(0), tuple(largest.1, largest.2) FROM "   \
	"(SELECT arraySlice(arrayReverseSort(x -> x.2, arrayZip(sums.1, sums.2)), 1, 96) " \
	"AS largest FROM (SELECT sumMap(mapKeys(ends), mapValues(ends)) AS sums FROM "     \
	"(SELECT any(Unwinding) AS ends FROM ${quality} WHERE ${which} "                   \
	"GROUP BY Host, Instance, Start, End)))"

/*
 * A row of states, which travel with the node-agent's CPU profiles. An instance whose last profile
 * is several intervals older than the newest of all has ended, and its programs with it.
 */
#define SQL_RUNTIMES                                                                  \
	"SELECT toUInt8(2), toUInt64(0), toUInt64(0), "                               \
	"sumMap(mapKeys(states), mapValues(states)) FROM (SELECT states, stop, len, " \
	"max(stop) OVER () AS newest FROM (SELECT argMax(Runtimes, End) AS states, "  \
	"toUnixTimestamp64Nano(max(End)) AS stop, "                                   \
	"max(toUnixTimestamp64Nano(End) - toUnixTimestamp64Nano(Start)) AS len "      \
	"FROM ${quality} WHERE ${which} GROUP BY Host, Instance)) "                   \
	"WHERE stop + 3 * len >= newest"

/* A pair of arrays: names, then as many counts. */
static void read_counts(struct rowbinary_reader *r, struct quality_counts *ret)
{
	uint64_t n = rowbinary_get_count(r);

	*ret = (struct quality_counts){0};
	for (uint64_t i = 0; i < n; i++) {
		size_t len;
		const char *name = rowbinary_get_string(r, &len);
		struct quality_count *item = &ret->items[ret->n];

		if (i >= QUALITY_MAX_COUNTS)
			continue;
		len = len < sizeof(item->name) ? len : sizeof(item->name) - 1;
		memcpy(item->name, name, len);
		item->name[len] = '\0';
		ret->n++;
	}
	if (rowbinary_get_count(r) != n && r->error == 0)
		r->error = -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t count = rowbinary_get_u64(r);

		ret->total += count;
		if (i < ret->n)
			ret->items[i].count = count;
	}
}

static int ask(struct store *store, const struct query_filter *f, const char *template,
	       struct quality *ret, struct err *err)
{
	struct quality_counts *const counts[KIND_MAX] = {
		[KIND_SAMPLES] = &ret->lost,
		[KIND_UNWINDING] = &ret->unwinding,
		[KIND_RUNTIMES] = &ret->runtimes,
	};
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader reader;
	int r = bound_query_ask(&q, store, f, MAX_ANSWER_BYTES, template, err);

	if (r < 0)
		return r;
	rowbinary_reader_init(&reader, q.answer.data, q.answer.len);
	while (rowbinary_has_more(&reader)) {
		uint8_t kind = rowbinary_get_u8(&reader);

		ret->n_samples += rowbinary_get_u64(&reader);
		ret->n_truncated += rowbinary_get_u64(&reader);
		read_counts(&reader, counts[kind < KIND_MAX ? kind : KIND_SAMPLES]);
	}
	return bound_query_check(&reader, err);
}

/* Whether rows of the range lack what the filter asks for. */
static int lacks_labels(struct store *store, const struct query_filter *f, bool *ret,
			struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader reader;
	int r;

	r = bound_query_ask(&q, store, f, MAX_ANSWER_BYTES, SQL_UNFILTERED, err);
	if (r < 0)
		return r;
	rowbinary_reader_init(&reader, q.answer.data, q.answer.len);
	*ret = rowbinary_get_u64(&reader) > 0;
	return bound_query_check(&reader, err);
}

int quality_query(struct store *store, const struct query_filter *f, struct quality *ret,
		  struct err *err)
{
	struct query_filter own = *f;
	int r = 0;

	*ret = (struct quality){0};
	if (query_filter_is_set(f))
		r = lacks_labels(store, f, &ret->of_all, err);
	if (ret->of_all) {
		own.instance = NULL;
		own.where = NULL;
	}
	if (r == 0)
		r = ask(store, &own, SQL_SAMPLES, ret, err);
	own.type = CPU_TYPE;
	return r == 0 ? ask(store, &own, SQL_RUNTIMES, ret, err) : r;
}
