/*
 * clickhouse-test-server as a child process, and SQL to it. The environment names the program as
 * CLICKHOUSE_SERVER and the engine as CHDB_LIBRARY. Every failure here fails the test, unless said
 * otherwise.
 */
#ifndef TEST_STORE_CLICKHOUSE_PROCESS_H
#define TEST_STORE_CLICKHOUSE_PROCESS_H

#include <sys/types.h>

#include "common/base.h"
#include "common/data/buf.h"

struct clickhouse_process {
	const char *dir; /* made by clickhouse_process_init() */
	unsigned port;
	pid_t pid; /* 0: not running */
};

/* Makes an empty data directory; starts nothing. */
void clickhouse_process_init(struct clickhouse_process *p);
/* Kills the server if it runs, and removes the directory. */
void clickhouse_process_fini(struct clickhouse_process *p);

/*
 * Starts the server and waits until it answers. The first start chooses a port, and the later ones
 * have the same. args are more arguments ("--user=u"), NULL-terminated, or NULL.
 */
void clickhouse_process_start(struct clickhouse_process *p, const char *const *args);
/* Sends signo and waits until the server has exited. */
void clickhouse_process_stop(struct clickhouse_process *p, int signo);

/*
 * POST /?<params> with this body; params may be NULL. Replaces out's content by the answer. Returns
 * the status, or 0 if there was no answer.
 */
long clickhouse_process_ask(const struct clickhouse_process *p, const char *params,
			    const void *body, size_t len, struct buf *out);
/* Runs a statement that must succeed. */
void clickhouse_process_run(const struct clickhouse_process *p, const char *sql);
/* Runs a query whose answer is one number. */
uint64_t clickhouse_process_u64(const struct clickhouse_process *p, const char *sql);

#endif /* TEST_STORE_CLICKHOUSE_PROCESS_H */
