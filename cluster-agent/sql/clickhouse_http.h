/*
 * Conventions of ClickHouse's HTTP interface: status codes, content types.
 * Pure. Source: ClickHouse's documentation of the HTTP interface.
 */
#ifndef CLUSTER_AGENT_SQL_CLICKHOUSE_HTTP_H
#define CLUSTER_AGENT_SQL_CLICKHOUSE_HTTP_H

#include "common/base.h"

/* ClickHouse's numbers for the exceptions that we make ourselves */
enum clickhouse_code {
	CLICKHOUSE_BAD_ARGUMENTS = 36,
	CLICKHOUSE_NOT_IMPLEMENTED = 48,
	CLICKHOUSE_SYNTAX_ERROR = 62,
	CLICKHOUSE_UNKNOWN_FORMAT = 73,
	CLICKHOUSE_UNKNOWN_DATABASE = 81,
	CLICKHOUSE_TIMEOUT = 159,
	CLICKHOUSE_READONLY = 164,
	CLICKHOUSE_TOO_MANY_QUERIES = 202,
	CLICKHOUSE_NO_MEMORY = 241,
	CLICKHOUSE_CANNOT_DECOMPRESS = 271,
	CLICKHOUSE_CANCELLED = 394,
	CLICKHOUSE_ANSWER_TOO_LARGE = 396,
	CLICKHOUSE_UNKNOWN_ROLE = 511,
	CLICKHOUSE_AUTHENTICATION_FAILED = 516,
	CLICKHOUSE_ENGINE = 1001, /* STD_EXCEPTION: an error without a number of its own */
};

/* Returns the HTTP status for an exception's code. */
unsigned clickhouse_status(int exception_code);

/* Returns ClickHouse's name for it, "SYNTAX_ERROR"; NULL for codes that we do not know. */
const char *clickhouse_code_name(int exception_code);

#endif /* CLUSTER_AGENT_SQL_CLICKHOUSE_HTTP_H */
