#include "cluster-agent/store/chdb_readers.h"

#include <errno.h>

#include "cluster-agent/store/engine_access.h"
#include "cluster-agent/store/query_turns.h"
#include "cluster-agent/store/schema.h"
#include "cluster-agent/store/store_engine.h"
#include "common/system/clock.h"

#define N_READERS (2 * STORE_MAX_QUERIES + STORE_MAX_AGENT_QUERIES)
#define CLEAN_ATTEMPTS 3
#define MAX_SETTINGS_BYTES ((size_t)64 * 1024)
#define MAX_SQL_BYTES ((size_t)1024 * 1024)
/* The engine ends a query by itself after STORE_QUERY_TIMEOUT_S, if it looks at its clock. */
#define RUN_NS ((STORE_QUERY_TIMEOUT_S + 5) * NS_PER_S)

struct reader {
	enum store_lane lane;
	chdb_handle *conn;
	bool dirty; /* its last statement failed: see clean_reader() */
	char end_sql[160];
};

struct chdb_readers {
	const struct chdb_api *api;
	chdb_handle *ender; /* runs nothing but end_sql of readers */
	struct reader readers[N_READERS];
	struct query_turns *turns; /* its slots are readers */
};

static const unsigned n_of_lane[STORE_LANE_MAX] = {
	[STORE_FOR_PAGE] = STORE_MAX_QUERIES,
	[STORE_FOR_SQL] = STORE_MAX_QUERIES,
	[STORE_FOR_AGENT] = STORE_MAX_AGENT_QUERIES,
};

/* ---- queries ---- */

/* Returns 0 or -EAGAIN. */
static int clean_reader(struct chdb_readers *rs, struct reader *reader)
{
	for (int i = 0; i < CLEAN_ATTEMPTS && reader->dirty; i++) {
		CLEANUP(buf_fini) struct buf out;

		buf_init(&out, 16);
		reader->dirty = chdb_run_sql(rs->api, reader->conn, "SELECT 1", &out, NULL) < 0 ||
				out.len != 2 || memcmp(out.data, "1\n", 2) != 0;
	}
	return reader->dirty ? -EAGAIN : 0;
}

static void end_query(void *ctx, unsigned slot)
{
	struct chdb_readers *rs = ctx;

	/* what it does not end is tried again */
	(void)!chdb_run_sql(rs->api, rs->ender, rs->readers[slot].end_sql, NULL, NULL);
}

/*
 * What the end of a query means for the caller, if we made it. The engine may then call it a
 * success, with a part of the answer.
 */
static int judge(enum query_end why, int r, struct buf *out, size_t start, struct err *err)
{
	static const char late[] =
		"Code: 159. DB::Exception: Timeout exceeded: the query did not end in time. "
		"(TIMEOUT_EXCEEDED)";

	if (why == QUERY_ENDED_ITSELF)
		return r;
	buf_truncate(out, start);
	switch (why) {
	case QUERY_STOPPED:
		return err_set(err, -EPIPE, "shutting down");
	case QUERY_CANCELLED:
		return err_set(err, -ECANCELED, "the query was cancelled");
	default:
		r = buf_add(out, late, sizeof(late) - 1);
		return err_set(err, r < 0 ? r : -EREMOTEIO, "%s", late);
	}
}

static int run_on(struct chdb_readers *rs, unsigned slot, const struct chdb_statement *st,
		  struct buf *out, struct err *err)
{
	struct reader *reader = &rs->readers[slot];
	size_t start = out->len;
	enum query_end why;
	int r = clean_reader(rs, reader);

	if (r < 0)
		err_set(err, r, "the embedded engine has not recovered from a failed query");
	/* whatever a statement got past sql_guard.h, the next one has the reader's rights again */
	if (r == 0 && reader->lane == STORE_FOR_SQL)
		r = chdb_run_sql(rs->api, reader->conn, engine_access_reader, NULL, err);
	if (r == 0)
		r = chdb_run(rs->api, reader->conn, st, out, err);
	why = query_turns_settle(rs->turns, slot);
	/*
	 * now and not before the next query, as the leftover may be large and the next query
	 * far off
	 */
	reader->dirty = r < 0 || why != QUERY_ENDED_ITSELF;
	if (reader->dirty)
		(void)clean_reader(rs, reader);
	return judge(why, r, out, start, err);
}

/* Makes sql the query with its settings, and ret refer to that, if it has any. */
static int add_settings(struct buf *sql, const struct store_query *q, struct chdb_statement *ret,
			struct err *err)
{
	int r;

	if (q->n_settings == 0)
		return 0;
	r = buf_add(sql, q->sql, strlen(q->sql));
	if (r == 0)
		r = engine_config_clause(sql, q->settings, q->n_settings);
	if (r < 0)
		return err_set(err, r, "settings of a query: %s", strerror(-r));
	ret->sql = sql->data;
	ret->sql_len = sql->len;
	return 0;
}

int chdb_readers_query(struct chdb_readers *rs, const struct store_query *q, struct buf *out,
		       struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	struct chdb_statement st = {
		.sql = q->sql,
		.sql_len = strlen(q->sql),
		.format = q->format,
		.params = q->params,
		.n_params = q->n_params,
		.cost = q->cost,
	};
	unsigned slot;
	int r;

	buf_init(&sql, MAX_SQL_BYTES);
	r = add_settings(&sql, q, &st, err);
	if (r == 0)
		r = query_turns_take(rs->turns, q->lane, q->ticket, RUN_NS, &slot, err);
	if (r < 0)
		return r;
	r = run_on(rs, slot, &st, out, err);
	query_turns_give(rs->turns, slot);
	return r;
}

void chdb_readers_wake(struct chdb_readers *rs)
{
	query_turns_wake(rs->turns);
}

void chdb_readers_stop(struct chdb_readers *rs)
{
	query_turns_stop(rs->turns, STORE_STOP_TIMEOUT_S * NS_PER_S);
}

/* ---- create and destroy ---- */

static int name_reader(struct chdb_readers *rs, struct reader *reader, struct err *err)
{
	char name[STORE_RANDOM_TOKEN_SIZE], sql[100];
	int r = store_make_token(name, err);

	if (r < 0)
		return r;
	snprintf(reader->end_sql, sizeof(reader->end_sql),
		 "KILL QUERY WHERE Settings['log_comment'] = '%s' ASYNC", name);
	snprintf(sql, sizeof(sql), "SET log_comment = '%s'", name);
	return chdb_run_sql(rs->api, reader->conn, sql, NULL, err);
}

static int prepare_reader(struct chdb_readers *rs, struct reader *reader,
			  const struct engine_memory *memory, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	int r = chdb_run_sql(rs->api, reader->conn, "USE " SCHEMA_DATABASE, NULL, err);

	buf_init(&sql, MAX_SETTINGS_BYTES);
	if (r == 0)
		r = name_reader(rs, reader, err);
	if (r == 0) {
		r = engine_config_reader(&sql, memory, reader->lane);
		if (r < 0)
			return err_set(err, r, "make settings");
		r = chdb_run_sql(rs->api, reader->conn, sql.data, NULL, err);
	}
	if (r == 0)
		r = chdb_run_sql(rs->api, reader->conn, engine_access_reader, NULL, err);
	/*
	 * From here on the connection can neither write nor change its settings. Queries of
	 * clients have settings of their own, which need readonly = 2.
	 */
	return r < 0 ? r
		     : chdb_run_sql(rs->api, reader->conn,
				    reader->lane == STORE_FOR_SQL ? "SET readonly = 2"
								  : "SET readonly = 1",
				    NULL, err);
}

int chdb_readers_prepare(struct chdb_readers *rs, const struct engine_memory *memory,
			 struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < N_READERS && r == 0; i++)
		r = prepare_reader(rs, &rs->readers[i], memory, err);
	return r;
}

static int start_turns(struct chdb_readers *rs, struct err *err)
{
	struct query_turns_config cfg = {
		.wait_ns = STORE_QUERY_TIMEOUT_S * NS_PER_S,
		.end = end_query,
		.ctx = rs,
	};
	unsigned n = 0;
	int r;

	for (enum store_lane lane = 0; lane < STORE_LANE_MAX; lane++) {
		cfg.n_slots[lane] = n_of_lane[lane];
		for (unsigned i = 0; i < n_of_lane[lane]; i++)
			rs->readers[n++].lane = lane;
	}
	r = query_turns_new(&rs->turns, &cfg);
	return r < 0 ? err_set(err, r, "queries: %s", strerror(-r)) : 0;
}

int chdb_readers_new(struct chdb_readers **ret, const struct chdb_api *api, chdb_connect_fn connect,
		     void *ctx, struct err *err)
{
	CLEANUP(chdb_readers_freep) struct chdb_readers *rs = calloc(1, sizeof(*rs));
	int r;

	if (!rs)
		return err_set(err, -ENOMEM, "out of memory");
	rs->api = api;
	r = start_turns(rs, err);
	if (r == 0)
		r = connect(ctx, &rs->ender, err);
	for (size_t i = 0; i < N_READERS && r == 0; i++)
		r = connect(ctx, &rs->readers[i].conn, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(rs);
	return 0;
}

void chdb_readers_free(struct chdb_readers *rs)
{
	if (!rs)
		return;
	query_turns_free(rs->turns);
	for (size_t i = 0; i < N_READERS; i++) {
		if (rs->readers[i].conn)
			rs->api->close(rs->readers[i].conn);
	}
	if (rs->ender)
		rs->api->close(rs->ender);
	free(rs);
}
