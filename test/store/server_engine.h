/* The engine of clickhouse-test-server: ClickHouse as a library, set up as a server is. */
#ifndef TEST_STORE_SERVER_ENGINE_H
#define TEST_STORE_SERVER_ENGINE_H

#include <limits.h>
#include <pthread.h>

#include "cluster-agent/store/chdb_api.h"

struct server_engine {
	struct chdb_api api;
	pthread_mutex_t connecting;
	chdb_handle *first; /* keeps the engine running */
	char path_arg[PATH_MAX + 32];
	char config_arg[PATH_MAX + 32];
};

struct server_engine_config {
	const char *data;    /* created if absent; locked */
	const char *config;  /* XML file of ClickHouse settings; NULL: one for a small machine */
	const char *library; /* NULL: libchdb.so two directories above the program */
};

/* One per process. Returns 0, or -errno with a sentence in err. */
int server_engine_start(struct server_engine *e, const struct server_engine_config *cfg,
			struct err *err) MUST_CHECK;
void server_engine_stop(struct server_engine *e);

/* A connection begins in the database "default" with the default settings. NULL if it failed. */
chdb_handle *server_engine_connect(struct server_engine *e);
void server_engine_close(struct server_engine *e, chdb_handle *conn);

/* Runs a statement; the answer is TSV. Freed by api.destroy(). */
struct chdb_result *server_engine_run(struct server_engine *e, chdb_handle *conn, const char *sql);

#endif /* TEST_STORE_SERVER_ENGINE_H */
