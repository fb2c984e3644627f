/*
 * Where profiles are kept: "add these rows" and "answer this query".
 *
 * The engine is ClickHouse; this header hides whether it is embedded in this process (chDB) or a
 * server. Opening creates or migrates the tables. Inserting and querying are safe from several
 * threads at once and block: call them from workers, never from a loop or an HTTP server's thread.
 */
#ifndef CLUSTER_AGENT_STORE_STORE_H
#define CLUSTER_AGENT_STORE_STORE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

struct store;

enum store_table {
	STORE_STACKS,
	STORE_SAMPLES,
	STORE_QUALITY,
	STORE_TABLE_MAX,
};

struct store_embedded_config {
	const char *data_dir;     /* created with mode 0700 when absent; locked while open */
	uint64_t profiles_ttl_ns; /* at least 1 s; applied to existing tables too */
	const char *chdb_library; /* path of libchdb.so; NULL: the usual places */
};

/* Bound to {name:Type} in the SQL by the engine; never pasted into it. */
struct store_param {
	const char *name;
	const char *value; /* text as ClickHouse parses it for Type */
};

struct store_query {
	const char *sql; /* one statement that reads; the engine refuses every other */
	const struct store_param *params;
	size_t n_params;
	const char *format; /* "RowBinary", "JSON", …; used unless the SQL has a FORMAT clause */
};

/* Limits of every query, beside the limit of the buffer it answers into. */
#define STORE_QUERY_TIMEOUT_S 30
#define STORE_QUERY_MEMORY_BYTES (UINT64_C(512) << 20)
/* Queries under way at once; the next one waits. */
#define STORE_MAX_QUERIES 4

/*
 * -EBUSY: another process holds data_dir; -ENOTEMPTY: data_dir holds something else; -ENOENT: no
 * libchdb.so where it was looked for; -EIO: the engine failed. Always with a sentence in err.
 * One embedded store per process at a time, as chDB itself is one engine per process.
 */
int store_open_embedded(struct store **ret, const struct store_embedded_config *cfg,
			struct err *err) MUST_CHECK;
/*
 * No insert or query may be under way. NULL is allowed. Must come before exit(3), during which an
 * open engine aborts; a killed process loses nothing that was inserted.
 */
void store_close(struct store *s);
DEFINE_CLEANUP(struct store *, store_close);

/*
 * Add RowBinary rows in the column order of row_batch.h, all or none of one day. After 0 they are
 * on disk. token, up to STORE_TOKEN_BYTES of [0-9a-f], makes a repetition of the same insert do
 * nothing, also after a restart, as long as it is among the table's last STORE_TOKENS_KEPT; NULL:
 * no such check. -EREMOTEIO when the engine refused the rows, with its words in err; -ENOMEM.
 */
int store_insert(struct store *s, enum store_table table, const char *token, const void *rows,
		 size_t len, struct err *err) MUST_CHECK;
#define STORE_TOKEN_BYTES 64
#define STORE_TOKENS_KEPT 1000

/*
 * Append the answer to out, whose limit bounds it.
 * -EREMOTEIO: the engine answered with an exception: out then holds its whole text
 *  ("Code: 62. DB::Exception: …") instead, see store_exception_code(), and err its beginning;
 * -EFBIG: the answer exceeds out's limit; -EAGAIN: other queries took all of
 * STORE_QUERY_TIMEOUT_S; -EPIPE: ended by store_stop_queries(); -ENOMEM.
 */
int store_query(struct store *s, const struct store_query *q, struct buf *out,
		struct err *err) MUST_CHECK;

/*
 * Ends the queries that are under way and refuses all later ones, so that stopping does not take
 * STORE_QUERY_TIMEOUT_S. Blocks until they are gone, 3 s at most. Inserts go on.
 */
void store_stop_queries(struct store *s);

/* 0 when the engine answers. */
int store_ping(struct store *s) MUST_CHECK;

/* N of "Code: N. DB::Exception: …"; 0 when the text is no exception. Pure. */
int store_exception_code(const char *text, size_t len);

#endif /* CLUSTER_AGENT_STORE_STORE_H */
