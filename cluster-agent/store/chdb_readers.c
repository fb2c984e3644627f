#include "cluster-agent/store/chdb_readers.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cluster-agent/store/engine_access.h"
#include "cluster-agent/store/query_turns.h"
#include "cluster-agent/store/schema.h"
#include "cluster-agent/store/store_engine.h"
#include "common/data/arena.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/thread/worker_thread.h"

/* Connections that take the places of those whose query does not end. */
#define N_SPARE 4
#define N_READERS (2 * STORE_MAX_QUERIES + STORE_MAX_AGENT_QUERIES + N_SPARE)
#define CLEAN_ATTEMPTS 3
#define MAX_SETTINGS_BYTES ((size_t)64 * 1024)
#define MAX_SQL_BYTES ((size_t)1024 * 1024)
/* The engine ends a query by itself after STORE_QUERY_TIMEOUT_S, if it looks at its clock. */
#define RUN_NS ((STORE_QUERY_TIMEOUT_S + 5) * NS_PER_S)
/* How long a query may take to end once it is asked to; less while the agent stops. */
#define ABANDON_NS (5 * NS_PER_S)
#define ABANDON_STOPPED_NS (1 * NS_PER_S)
#define POLL_NS (100 * NS_PER_MS)
#define FREE_POLL_US 10000
#define MAX_COPY_BYTES ((size_t)4 * 1024 * 1024)

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
	atomic_bool stopping;
};

static const unsigned n_of_lane[STORE_LANE_MAX] = {
	[STORE_FOR_PAGE] = STORE_MAX_QUERIES,
	[STORE_FOR_SQL] = STORE_MAX_QUERIES + N_SPARE,
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

/* Returns why the query was ended in *ret_why, for judge(). */
static int run_on(struct chdb_readers *rs, unsigned slot, const struct chdb_statement *st,
		  struct buf *out, enum query_end *ret_why, struct err *err)
{
	struct reader *reader = &rs->readers[slot];
	int r = clean_reader(rs, reader);

	if (r < 0)
		err_set(err, r, "the embedded engine has not recovered from a failed query");
	/* whatever a statement got past sql_guard.h, the next one has the reader's rights again */
	if (r == 0 && reader->lane == STORE_FOR_SQL)
		r = chdb_run_sql(rs->api, reader->conn, engine_access_reader, NULL, err);
	if (r == 0)
		r = chdb_run(rs->api, reader->conn, st, out, err);
	*ret_why = query_turns_settle(rs->turns, slot);
	/*
	 * now and not before the next query, as the leftover may be large and the next query
	 * far off
	 */
	reader->dirty = r < 0 || *ret_why != QUERY_ENDED_ITSELF;
	if (reader->dirty)
		(void)clean_reader(rs, reader);
	return r;
}

/* ---- statements of strangers, which the engine may not end ---- */

/*
 * The engine looks at its clock, and at the wish to end a query, between two blocks of rows, and
 * there are functions that need minutes for one. So a thread of its own runs the statement, on
 * copies of everything, and can be left alone with it.
 */
struct call {
	struct chdb_readers *rs;
	unsigned slot;
	struct arena copies;
	struct chdb_statement st;
	struct store_query_cost cost;
	struct buf out;
	struct err err;
	enum query_end why;
	int r;
};

static void call_free(struct call *c)
{
	if (!c)
		return;
	buf_fini(&c->out);
	arena_fini(&c->copies);
	free(c);
}
DEFINE_CLEANUP(struct call *, call_free);

static const char *copy(struct call *c, const char *text, size_t len)
{
	return arena_strndup(&c->copies, text, len);
}

static int copy_statement(struct call *c, const struct chdb_statement *st)
{
	struct store_param *params = arena_calloc(&c->copies, st->n_params + 1, sizeof(*params));

	if (!params)
		return -ENOMEM;
	c->st = *st;
	c->st.sql = copy(c, st->sql, st->sql_len);
	c->st.format = copy(c, st->format, strlen(st->format));
	c->st.params = params;
	c->st.cost = &c->cost;
	for (size_t i = 0; i < st->n_params; i++) {
		params[i].name = copy(c, st->params[i].name, strlen(st->params[i].name));
		params[i].value = copy(c, st->params[i].value, strlen(st->params[i].value));
		if (!params[i].name || !params[i].value)
			return -ENOMEM;
	}
	return c->st.sql && c->st.format ? 0 : -ENOMEM;
}

static void run_call(void *ctx, struct worker_thread *t)
{
	struct call *c = ctx;

	(void)t;
	c->r = run_on(c->rs, c->slot, &c->st, &c->out, &c->why, &c->err);
}

static void end_call(void *ctx, bool abandoned)
{
	struct call *c = ctx;

	query_turns_give(c->rs->turns, c->slot);
	if (abandoned)
		call_free(c);
}

static bool is_patience_over(struct chdb_readers *rs, unsigned slot)
{
	uint64_t limit_ns = atomic_load(&rs->stopping) ? ABANDON_STOPPED_NS : ABANDON_NS;

	return query_turns_ending_ns(rs->turns, slot) > limit_ns;
}

/* Takes the result of a call that has ended. */
static int take_result(struct call *c, const struct chdb_statement *st, struct buf *out,
		       struct err *err)
{
	size_t start = out->len;
	int r = c->r;

	if (c->out.len > 0 && buf_add(out, c->out.data, c->out.len) < 0)
		r = -ENOMEM;
	if (r < 0)
		err_set(err, r, "%s", c->err.msg[0] ? c->err.msg : "out of memory");
	if (st->cost)
		*st->cost = c->cost;
	return judge(c->why, r, out, start, err);
}

/* Takes the slot, too. */
static int run_apart(struct chdb_readers *rs, unsigned slot, const struct chdb_statement *st,
		     struct buf *out, struct err *err)
{
	CLEANUP(call_freep) struct call *c = calloc(1, sizeof(*c));
	struct worker_thread_config cfg = {.run = run_call, .free = end_call, .ctx = c};
	struct worker_thread *t;
	enum query_end why;
	int r = c ? 0 : -ENOMEM;

	if (r == 0) {
		c->rs = rs;
		c->slot = slot;
		arena_init(&c->copies, MAX_COPY_BYTES);
		buf_init(&c->out, out->limit - out->len);
		r = copy_statement(c, st);
	}
	if (r == 0)
		r = worker_thread_start(&t, &cfg);
	if (r < 0) {
		(void)query_turns_settle(rs->turns, slot);
		query_turns_give(rs->turns, slot);
		return err_set(err, r, "run the query: %s", strerror(-r));
	}
	while (worker_thread_join(t, POLL_NS) == -ETIMEDOUT) {
		if (!is_patience_over(rs, slot))
			continue;
		why = query_turns_abandon(rs->turns, slot);
		if (!worker_thread_abandon(t))
			break; /* it has just ended */
		TAKE_PTR(c);
		log_warn_limited("the embedded engine does not end a query; it is left behind",
				 "abandoned=%u", query_turns_abandoned(rs->turns));
		return judge(why, 0, out, out->len, err);
	}
	return take_result(c, st, out, err);
}

/* ---- queries ---- */

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
	enum query_end why;
	unsigned slot;
	size_t start;
	int r;

	buf_init(&sql, MAX_SQL_BYTES);
	r = add_settings(&sql, q, &st, err);
	if (r == 0)
		r = query_turns_take(rs->turns, q->lane, q->ticket, RUN_NS, &slot, err);
	if (r < 0)
		return r;
	if (q->lane == STORE_FOR_SQL)
		return run_apart(rs, slot, &st, out, err);
	start = out->len;
	r = run_on(rs, slot, &st, out, &why, err);
	query_turns_give(rs->turns, slot);
	return judge(why, r, out, start, err);
}

void chdb_readers_wake(struct chdb_readers *rs)
{
	query_turns_wake(rs->turns);
}

void chdb_readers_stop(struct chdb_readers *rs)
{
	atomic_store(&rs->stopping, true);
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
		.n_spare = {[STORE_FOR_SQL] = N_SPARE},
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
	/* their threads use all of this; whoever cannot wait ends the process */
	while (rs->turns && query_turns_abandoned(rs->turns) > 0)
		usleep(FREE_POLL_US);
	query_turns_free(rs->turns);
	for (size_t i = 0; i < N_READERS; i++) {
		if (rs->readers[i].conn)
			rs->api->close(rs->readers[i].conn);
	}
	if (rs->ender)
		rs->api->close(rs->ender);
	free(rs);
}
