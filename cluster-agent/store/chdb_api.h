/*
 * The C interface of chDB, as far as we use it, and how libchdb.so is found.
 *
 * The library is half a gigabyte and only needed for --storage=embedded, so it is loaded with
 * dlopen(3) and never unloaded: its threads outlive its connections.
 * Source: the C API of chDB 26.5 (chdb.h: connections, queries by length, bound parameters,
 * results); npm packages @chdb/lib-linux-x64-gnu and @chdb/lib-linux-arm64-gnu, Apache-2.0.
 */
#ifndef CLUSTER_AGENT_STORE_CHDB_API_H
#define CLUSTER_AGENT_STORE_CHDB_API_H

#include "common/base.h"
#include "common/err.h"

/* chdb_connection: a pointer to something of chDB's; chdb_connect() gives a pointer to it. */
typedef void *chdb_handle;

struct chdb_result;

struct chdb_api {
	chdb_handle *(*connect)(int argc, char **argv);
	void (*close)(chdb_handle *conn);
	/* lengths may be NULL when names are NUL-terminated */
	struct chdb_result *(*query)(chdb_handle conn, const char *sql, size_t sql_len,
				     const char *format, size_t format_len,
				     const char *const *names, const size_t *name_lens,
				     const char *const *values, const size_t *value_lens, size_t n);
	/* results are freed by destroy, with the error text */
	void (*destroy)(struct chdb_result *result);
	char *(*buffer)(struct chdb_result *result);
	size_t (*length)(struct chdb_result *result);
	const char *(*error)(struct chdb_result *result); /* NULL: none */
	void (*enable_signal_handlers)(int enabled);
};

/*
 * Load the library and switch its signal handlers off, which otherwise catch crashes and hang.
 * path NULL: next to the executable, ../lib/coroot from there, then the loader's own places.
 * -ENOENT: not found, err says where it was looked for; -ELIBBAD: found but not usable.
 */
int chdb_api_load(struct chdb_api *ret, const char *path, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_CHDB_API_H */
