/* What answers of the SQL port say about the server. */
#ifndef CLUSTER_AGENT_SQL_SQL_SERVER_H
#define CLUSTER_AGENT_SQL_SQL_SERVER_H

#include "common/base.h"
#include "common/err.h"

struct store;

struct sql_server {
	char version[32];   /* of the engine */
	char time_zone[64]; /* "Europe/Berlin" */
	char name[65];      /* of the host */
};

/* Asks the engine. Returns 0, or an error of store_query() with a sentence in err. */
int sql_server_read(struct sql_server *ret, struct store *store, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SQL_SQL_SERVER_H */
