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
#include "common/buf.h"
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
	const char *sql; /* one statement that reads; others are refused by the engine */
	const struct store_param *params;
	size_t n_params;
	const char *format;  /* "RowBinary", "JSON", …; used unless the SQL has a FORMAT clause */
	uint64_t timeout_ns; /* 0: STORE_QUERY_TIMEOUT_NS */
	uint64_t max_memory_bytes; /* 0: STORE_QUERY_MEMORY_BYTES */
};

#define STORE_QUERY_TIMEOUT_NS UINT64_C(30000000000)
#define STORE_QUERY_MEMORY_BYTES (UINT64_C(512) << 20)

/*
 * -EBUSY: another process holds data_dir; -ENOTEMPTY: data_dir holds something else; -ENOENT: no
 * libchdb.so where it was looked for; -EIO: the engine failed. Always with a sentence in err.
 * One embedded store per process at a time, as chDB itself is one engine per process.
 */
int store_open_embedded(struct store **ret, const struct store_embedded_config *cfg,
			struct err *err) MUST_CHECK;
/* Waits for nothing: no insert or query may be under way. NULL is allowed. */
void store_close(struct store *s);
DEFINE_CLEANUP(struct store *, store_close);

/*
 * Add RowBinary rows in the column order of row_batch.h. After 0 they survive the death of this
 * process. -EIO when the engine refused them, with its words in err.
 */
int store_insert(struct store *s, enum store_table table, const void *rows, size_t len,
		 struct err *err) MUST_CHECK;

/*
 * Append the answer to out, whose limit bounds it.
 * -EREMOTEIO: the engine answered with an exception: out then holds its whole text
 *  ("Code: 62. DB::Exception: …") instead, see store_exception_code(), and err its beginning;
 * -EFBIG: the answer exceeds out's limit; -ENOMEM.
 */
int store_query(struct store *s, const struct store_query *q, struct buf *out,
		struct err *err) MUST_CHECK;

/* 0 when the engine answers. */
int store_ping(struct store *s) MUST_CHECK;

/* N of "Code: N. DB::Exception: …"; 0 when the text is no exception. Pure. */
int store_exception_code(const char *text, size_t len);

#endif /* CLUSTER_AGENT_STORE_STORE_H */
