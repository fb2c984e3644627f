/*
 * The SQL port on the real engine, and a client of it. The environment names libchdb.so as
 * CHDB_LIBRARY.
 */
#ifndef TEST_STORE_SQL_FIXTURE_H
#define TEST_STORE_SQL_FIXTURE_H

#include "cluster-agent/sql/clickhouse_port.h"
#include "cluster-agent/store/store.h"
#include "common/data/buf.h"

extern const char *sql_dir; /* the data directory */
extern struct store *sql_store;
extern struct clickhouse_port *sql_port;

/* For a group of tests. */
int sql_fixture_start(void **state);
int sql_fixture_stop(void **state);

/* After clickhouse_port_free(): with another key, or NULL for none. Returns 0 or an error. */
int sql_port_open(const char *key);
/* With so much memory for the process; 0: what there is. */
int sql_port_open_within(const char *key, uint64_t memory_bytes);

struct answer {
	long status;
	struct buf body;
	struct buf headers;
};

void answer_fini(struct answer *a);
/* target is path and query. Without a body it is a GET; header may be NULL. */
void ask(struct answer *a, const char *target, const char *body, const char *header);
void ask_bytes(struct answer *a, const char *target, const void *body, size_t len,
	       const char *header);

#endif /* TEST_STORE_SQL_FIXTURE_H */
