/*
 * The connections of the embedded engine that answer queries, and the one that ends them.
 *
 * The engine runs one statement of a connection at a time, and tells nobody the id of a query. So
 * each connection carries a random name in a setting that it cannot change any more, and KILL QUERY
 * finds what it runs by that name: no text of a user is part of the pattern, and no user's
 * statement is changed. KILL has a connection of its own, which nothing else delays.
 *
 * A statement that failed after it had produced output leaves that output to the next answer of the
 * connection, which may be another user's. So a connection is not given to the next query before a
 * trivial question has been answered right.
 *
 * The engine does not end every query when it should. One of a stranger that does not end within
 * seconds is answered all the same and left behind on its connection, and another connection takes
 * the place of that one. There are a few; beyond them such queries are refused.
 */
#ifndef CLUSTER_AGENT_STORE_CHDB_READERS_H
#define CLUSTER_AGENT_STORE_CHDB_READERS_H

#include "cluster-agent/store/chdb_statement.h"
#include "cluster-agent/store/engine_config.h"

struct chdb_readers;

/* Opens a connection. Returns 0 or an error with a sentence in err. */
typedef int (*chdb_connect_fn)(void *ctx, chdb_handle **ret, struct err *err);

/* Connects all. api is borrowed. */
int chdb_readers_new(struct chdb_readers **ret, const struct chdb_api *api, chdb_connect_fn connect,
		     void *ctx, struct err *err) MUST_CHECK;
/*
 * Once database and tables exist: settings of each connection, by its lane. They can neither write
 * nor change a setting from then on.
 */
int chdb_readers_prepare(struct chdb_readers *r, const struct engine_memory *memory,
			 struct err *err) MUST_CHECK;
/* Waits for queries that the engine does not end: for minutes, perhaps. NULL is allowed. */
void chdb_readers_free(struct chdb_readers *r);
DEFINE_CLEANUP(struct chdb_readers *, chdb_readers_free);

/* As the functions of store.h. */
int chdb_readers_query(struct chdb_readers *r, const struct store_query *q, struct buf *out,
		       struct err *err) MUST_CHECK;
/* After a ticket was cancelled. */
void chdb_readers_wake(struct chdb_readers *r);
void chdb_readers_stop(struct chdb_readers *r);

#endif /* CLUSTER_AGENT_STORE_CHDB_READERS_H */
