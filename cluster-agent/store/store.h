/*
 * Where profiles are kept: "add these rows" and "answer this query".
 *
 * This header is all that the other stages know of the store. Behind it is an engine, chosen by
 * the function that opens the store: store_chdb.h runs ClickHouse inside this process. An
 * engine is a struct of functions (store_engine.h), so that a ClickHouse server elsewhere can
 * be another one.
 *
 * Threads. An engine may block in every function here, for as long as its own timeouts allow,
 * so none is called on the loop thread while the loop runs, and none on an HTTP server's
 * thread:
 *
 *	store_insert()        the drain's thread (wal/log_drain.h), one insert at a time
 *	store_query()         workers of the API and of the SQL port, several at once; the drain's
 *	store_ping()          likewise
 *	store_cancel()        any thread, also one of an HTTP server
 *	store_maintain()      the thread of space_guard.h
 *	store_stop_queries()  the loop thread after the loop, STORE_STOP_TIMEOUT_S at most
 *	store_stop_inserts()  likewise; returns at once
 *	store_close()         likewise, once the threads above have been joined
 *
 * Queries of different lanes never wait for each other: each lane has connections of its own, and
 * those for strangers' SQL have lower limits. A query that nobody waits for any more is ended by
 * the ticket that came with it.
 *
 * At the end of the process store_stop_queries() ends all queries, for good, and
 * store_stop_inserts() inserts that a server keeps waiting. Before that, an engine bounds the time
 * of an insert itself and then returns -EAGAIN.
 *
 * Errors say what to do next; err has a sentence for people:
 *
 *	-EREMOTEIO  the engine understood and refused. Insert: split the rows, then give up on those
 *	            that are still refused. Query: give up, the SQL is at fault.
 *	-ENOMEM     as -EREMOTEIO: fewer rows may succeed.
 *	-EAGAIN     the engine is busy or cannot be reached. Retry the same rows with the same token
 *	            later, or the same query; to split would only ask more of it.
 *	-EFBIG      the answer does not fit: give up, and ask for less.
 *	-EPIPE      the store is stopping: give up.
 *	-ECANCELED  store_cancel() ended the query.
 *	others      (-EINVAL, -EIO, -EMFILE, …) a fault of ours or of the machine: give up.
 */
#ifndef CLUSTER_AGENT_STORE_STORE_H
#define CLUSTER_AGENT_STORE_STORE_H

#include <stdatomic.h>

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

struct store;

enum store_table {
	STORE_STACKS,
	STORE_SAMPLES,
	STORE_QUALITY,
	STORE_TABLE_MAX,                   /* of those that uploads have rows of */
	STORE_FUNCTIONS = STORE_TABLE_MAX, /* what function_sums.h adds up */
	STORE_NOTES,                       /* of note_store.h */
};

/* Whether the store works without the table, as its account may not be allowed to create it. */
static inline bool store_table_is_optional(unsigned table)
{
	return table == STORE_FUNCTIONS || table == STORE_NOTES;
}

/* Bound to {name:Type} in the SQL by the engine; never pasted into it. */
struct store_param {
	const char *name;
	const char *value; /* text as ClickHouse parses it for Type */
};

/*
 * Rows on their way to the store: a zstd frame of RowBinary rows in the column order of
 * row_batch.h. Frames of a table can be joined, as zstd frames and RowBinary rows both can.
 */
struct store_frame {
	const void *data;
	size_t len;
	uint32_t n_rows;
	uint32_t n_bytes; /* of the rows, inflated */
	uint32_t quarter; /* quarters of an hour since the epoch, see below */
	/* Columns at the end of profiling_quality that rows of an earlier release lack. */
	uint8_t n_missing;
};

/* n_missing: since when which columns are there. */
#define STORE_MISSING_LABELS 1u
#define STORE_MISSING_STARTS 2u
#define STORE_MISSING_UNWINDING 3u
#define STORE_MISSING_RUNTIMES 4u

/*
 * All rows of a frame are of the same partition, which is a day. When a day begins depends on
 * the time zone of the store; time zones differ by quarters of an hour, so rows of the same
 * quarter are of the same day wherever the store is.
 */
#define STORE_QUARTER_S 900u

/* A setting of the engine for one query. The caller has checked name and value. */
struct store_setting {
	const char *name;  /* of letters, digits and "_" */
	const char *value; /* quoted by the engine; without control characters other than tabs */
};

/* What a query has cost, as the engine counts it. */
struct store_query_cost {
	uint64_t elapsed_ns;
	uint64_t rows_read;
	uint64_t bytes_read;
	uint64_t result_rows;
	uint64_t result_bytes; /* in the engine's memory */
};

/* Who asks. The first one is what a query gets that says nothing. */
enum store_lane {
	STORE_FOR_PAGE,
	STORE_FOR_SQL,   /* statements of strangers */
	STORE_FOR_AGENT, /* what the drain and store_ping() ask */
	STORE_LANE_MAX,
};

/*
 * By which the queries of one request are ended. The caller zeroes it, and keeps it until
 * store_query() has returned and nobody calls store_cancel() with it.
 */
struct store_ticket {
	atomic_bool cancelled;
};

struct store_query {
	enum store_lane lane;
	const struct store_ticket *ticket; /* NULL: only store_stop_queries() ends it */
	const char *sql; /* one statement that reads; the engine refuses every other */
	const struct store_param *params;
	size_t n_params;
	const char *format; /* "RowBinary", "JSON", …; used unless the SQL has a FORMAT clause */
	const struct store_setting *settings;
	size_t n_settings;
	/* filled in if the query succeeds, by the embedded engine only; may be NULL */
	struct store_query_cost *cost;
};

/* Limits of every query, beside the limit of the buffer that takes its answer. */
#define STORE_QUERY_TIMEOUT_S 30
#define STORE_QUERY_MEMORY_BYTES (UINT64_C(512) << 20)
/* Queries of each lane that run at the same time; the next one waits. */
#define STORE_MAX_QUERIES 4
#define STORE_MAX_AGENT_QUERIES 2
/* How long store_stop_queries() may block. */
#define STORE_STOP_TIMEOUT_S 3

/*
 * No insert or query may be under way. NULL is allowed. Must come before exit(3), during
 * which the embedded engine would abort; a killed process loses nothing that was inserted.
 */
void store_close(struct store *s);
DEFINE_CLEANUP(struct store *, store_close);

/*
 * Adds the rows of all frames, which have the same columns: all or none of one day if they are at
 * most STORE_INSERT_ROWS and STORE_INSERT_BYTES (inflated), beyond that the engine may divide them.
 * After 0 they are durable. token, up to STORE_TOKEN_BYTES of [0-9a-f], makes a repetition of the
 * same insert do nothing, also after a restart, as long as it is among the table's last
 * STORE_TOKENS_KEPT; NULL turns that off. Returns 0, -EREMOTEIO, -ENOMEM, -EAGAIN, or -EINVAL
 * for a bad token.
 *
 * A token says nothing certain about an insert during which the engine was killed: the engine
 * writes the token before it commits the rows, and does not sync it. After a kill the token
 * may be known and the rows missing; after a power cut it may be the other way round. Who
 * repeats such an insert must look for the rows.
 */
int store_insert(struct store *s, enum store_table table, const char *token,
		 const struct store_frame *frames, size_t n_frames, struct err *err) MUST_CHECK;
#define STORE_INSERT_ROWS ((uint64_t)256 << 10)
#define STORE_INSERT_BYTES ((uint64_t)64 << 20)
#define STORE_TOKEN_BYTES 64
#define STORE_TOKENS_KEPT 1000

/*
 * Appends the answer to out. Returns 0, or:
 *  -EREMOTEIO  the engine answered with an exception: out then holds its whole text instead
 *              ("Code: 62. DB::Exception: …", see store_exception_code()), and err its first
 *              line;
 *  -EFBIG      the answer exceeds the limit of out;
 *  -EAGAIN     no other query of the lane ended within STORE_QUERY_TIMEOUT_S, or the engine
 *              cannot be reached;
 *  -ECANCELED  its ticket was cancelled;
 *  -EPIPE      store_stop_queries() ended it; or -ENOMEM.
 */
int store_query(struct store *s, const struct store_query *q, struct buf *out,
		struct err *err) MUST_CHECK;

/*
 * Ends the queries that have the ticket, whether they wait, start or run, and all later ones with
 * it. Returns at once; the engine needs milliseconds, or up to about a second at a server. A query
 * that ends at the same time may succeed all the same.
 */
void store_cancel(struct store *s, struct store_ticket *ticket);

/*
 * Lists services and types of the samples that start in [from_ns, to_ns] again in
 * profiling_profiles, which the engine fills after it has committed the samples: if it was
 * killed in between, a service could be missing there. May be repeated. Thread and errors of
 * store_insert().
 */
int store_restore_types(struct store *s, int64_t from_ns, int64_t to_ns,
			struct err *err) MUST_CHECK;

/*
 * Ends the queries that are under way and refuses all later ones, so that a shutdown does not
 * take STORE_QUERY_TIMEOUT_S. Waits for them, but for STORE_STOP_TIMEOUT_S at most. Inserts
 * continue.
 */
void store_stop_queries(struct store *s);

/*
 * Ends an insert that is under way at a server, whose outcome is then unknown, and refuses all
 * later ones with -EPIPE. The embedded engine ends its inserts by itself. Does not wait. From any
 * thread.
 */
void store_stop_inserts(struct store *s);

/*
 * On a cluster, SQL must name <table>_distributed, which stands for the tables of all shards,
 * and needs GLOBAL IN for a subquery over such a table.
 */
bool store_is_distributed(const struct store *s);
/* Whether other agents may insert into the same tables. */
bool store_is_shared(const struct store *s);
/* The cluster's name, for ON CLUSTER; NULL if there is none. */
const char *store_cluster(const struct store *s);
/* How long notes are kept; 0: there are none. */
uint64_t store_note_ttl(const struct store *s);

/*
 * Runs a statement of ours that looks after the tables, and appends its answer, in TSV, to
 * out unless that is NULL. Waits for an insert that is under way. From any thread that may
 * block. Errors of store_insert(); for -EREMOTEIO err begins with the exception's text.
 */
int store_maintain(struct store *s, const char *sql, struct buf *out, struct err *err) MUST_CHECK;

/* Returns 0 if the tables are there and the engine answers a trivial query. */
int store_ping(struct store *s) MUST_CHECK;

/* Returns N of "Code: N. DB::Exception: …", or 0 if the text is no exception. Pure. */
int store_exception_code(const char *text, size_t len);

#endif /* CLUSTER_AGENT_STORE_STORE_H */
