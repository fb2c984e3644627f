/*
 * Statements that drivers and tools send beside queries, and that the port answers without the
 * engine: they change nothing here, or end a query of the port. Pure.
 */
#ifndef CLUSTER_AGENT_SQL_SQL_COMMAND_H
#define CLUSTER_AGENT_SQL_SQL_COMMAND_H

#include "common/base.h"

#define SQL_QUERY_ID_BYTES 128

enum sql_command_kind {
	SQL_COMMAND_NONE,    /* a query */
	SQL_COMMAND_NOTHING, /* true already: SET readonly = 1, SET ROLE NONE, USE coroot */
	SQL_COMMAND_KILL,    /* KILL QUERY WHERE query_id = '…' */
};

struct sql_command {
	enum sql_command_kind kind;
	char query_id[SQL_QUERY_ID_BYTES]; /* of SQL_COMMAND_KILL */
};

/* What is not exactly one of these is SQL_COMMAND_NONE. */
void sql_command_parse(const char *sql, size_t len, struct sql_command *ret);

#endif /* CLUSTER_AGENT_SQL_SQL_COMMAND_H */
