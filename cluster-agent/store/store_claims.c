#include "cluster-agent/store/store_claims.h"

#include <errno.h>

#include "cluster-agent/store/rowbinary.h"
#include "cluster-agent/store/schema.h"
#include "cluster-agent/store/store_probe.h"
#include "common/data/buf.h"

#define TABLE "profiling_claims"
/* A server's default limit of a statement is 256 KiB; an id has up to twenty digits. */
#define CLAIMS_AT_ONCE 4096u
_Static_assert(CLAIMS_AT_ONCE * 21u < 200000u, "a statement has room");
#define STATEMENT_BYTES ((size_t)256 * 1024)
#define ANSWER_BYTES ((size_t)1024 * 1024)

/* No row of ours is at fault: what does not work now is tried again. */
static int retried(int r)
{
	return r == -EREMOTEIO || r == -ENOMEM ? -EAGAIN : r;
}

static int add_some(struct store *s, const char *claimant, const uint64_t *ids, size_t n,
		    struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	int r;

	buf_init(&sql, STATEMENT_BYTES);
	/* each server's own table: readers ask all of them */
	r = buf_addf(&sql, "INSERT INTO " TABLE " (Upload, Claimant) SELECT arrayJoin(");
	if (r == 0)
		r = store_add_ids(&sql, ids, n);
	if (r == 0)
		r = buf_addf(&sql, "), '%s'", claimant);
	return r < 0 ? r : store_maintain(s, sql.data, NULL, err);
}

int store_add_claims(struct store *s, const char *claimant, const uint64_t *ids, size_t n,
		     struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i += CLAIMS_AT_ONCE) {
		size_t left = n - i;

		r = add_some(s, claimant, ids + i, left < CLAIMS_AT_ONCE ? left : CLAIMS_AT_ONCE,
			     err);
	}
	return retried(r);
}

static void note(const uint64_t *ids, size_t n, enum store_claim *ret, uint64_t id, bool is_ours)
{
	for (size_t i = 0; i < n; i++) {
		if (ids[i] == id)
			ret[i] = is_ours ? STORE_CLAIMED_BY_US : STORE_CLAIMED_BY_OTHERS;
	}
}

static int find_some(struct store *s, const char *claimant, const uint64_t *ids, size_t n,
		     enum store_claim *ret, struct err *err)
{
	CLEANUP(buf_fini) struct buf list;
	CLEANUP(buf_fini) struct buf answer;
	char sql[256];
	struct store_param params[] = {{"ids", NULL}, {"claimant", claimant}};
	const struct store_query q = {
		.lane = STORE_FOR_AGENT,
		.sql = sql,
		.params = params,
		.n_params = ARRAY_SIZE(params),
		.format = "RowBinary",
	};
	struct rowbinary_reader in;
	int r;

	buf_init(&list, STATEMENT_BYTES);
	buf_init(&answer, ANSWER_BYTES);
	r = store_add_ids(&list, ids, n);
	if (r < 0)
		return r;
	params[0].value = list.data;
	snprintf(sql, sizeof(sql),
		 "SELECT Upload, toUInt64(argMax(Claimant, (Time, Claimant)) = {claimant:String}) "
		 "FROM " TABLE "%s WHERE Upload IN {ids:Array(UInt64)} GROUP BY Upload",
		 store_is_distributed(s) ? SCHEMA_DISTRIBUTED : "");
	r = store_query(s, &q, &answer, err);
	if (r < 0)
		return r;
	rowbinary_reader_init(&in, answer.data, answer.len);
	while (rowbinary_has_more(&in)) {
		uint64_t id = rowbinary_get_u64(&in);

		note(ids, n, ret, id, rowbinary_get_u64(&in) != 0);
	}
	return rowbinary_reader_finish(&in) < 0
		       ? err_set(err, -EAGAIN, "the answer about claims is cut off")
		       : 0;
}

int store_find_claims(struct store *s, const char *claimant, const uint64_t *ids, size_t n,
		      enum store_claim *ret, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n; i++)
		ret[i] = STORE_UNCLAIMED;
	for (size_t i = 0; i < n && r == 0; i += STORE_IDS_AT_ONCE) {
		size_t left = n - i;

		r = find_some(s, claimant, ids + i,
			      left < STORE_IDS_AT_ONCE ? left : STORE_IDS_AT_ONCE, ret + i, err);
	}
	return retried(r);
}
