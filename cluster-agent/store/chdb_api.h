/*
 * The part of chDB's C interface that we use, and how libchdb.so is found.
 *
 * The library is half a gigabyte and only needed for --storage=embedded, so it is loaded with
 * dlopen(3). It is never unloaded, as its threads outlive its connections.
 * Source: the C API of chDB 26.5 (chdb.h: connections, queries by length, bound parameters,
 * results); npm packages @chdb/lib-linux-x64-gnu and @chdb/lib-linux-arm64-gnu, Apache-2.0.
 */
#ifndef CLUSTER_AGENT_STORE_CHDB_API_H
#define CLUSTER_AGENT_STORE_CHDB_API_H

#include "common/base.h"
#include "common/err.h"

/* chDB's chdb_connection, an opaque pointer; chdb_connect() returns a pointer to one. */
typedef void *chdb_handle;

struct chdb_result;

struct chdb_api {
	chdb_handle *(*connect)(int argc, char **argv);
	void (*close)(chdb_handle *conn);
	/* lengths may be NULL if the names and values are NUL-terminated */
	struct chdb_result *(*query)(chdb_handle conn, const char *sql, size_t sql_len,
				     const char *format, size_t format_len,
				     const char *const *names, const size_t *name_lens,
				     const char *const *values, const size_t *value_lens, size_t n);
	/* frees a result and its error text */
	void (*destroy)(struct chdb_result *result);
	char *(*buffer)(struct chdb_result *result);
	size_t (*length)(struct chdb_result *result);
	const char *(*error)(struct chdb_result *result); /* NULL if it succeeded */
	double (*elapsed)(struct chdb_result *result);    /* seconds */
	/* of the answer; the next two: of what was read for it */
	uint64_t (*rows)(struct chdb_result *result);
	uint64_t (*bytes)(struct chdb_result *result);
	uint64_t (*storage_rows)(struct chdb_result *result);
	uint64_t (*storage_bytes)(struct chdb_result *result);
	void (*enable_signal_handlers)(int enabled);
};

/*
 * Loads the library and switches off its signal handlers, which would catch crashes and hang.
 * If path is NULL, it is searched for next to the executable, in ../lib/coroot from there, and
 * in the loader's own places. Returns 0, -ENOENT if it was not found (err lists the places), or
 * -ELIBBAD if it cannot be used.
 */
int chdb_api_load(struct chdb_api *ret, const char *path, struct err *err) MUST_CHECK;

/*
 * The library next to the executable or in ../lib/coroot from there. Returns 0, or -errno if
 * neither has it; the loader may find another one then.
 */
int chdb_api_find(char *ret, size_t size) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_CHDB_API_H */
