/*
 * What a ClickHouse exception asks of the client. Pure; reads texts of the server.
 *
 * Sources: ClickHouse's src/Common/ErrorCodes.cpp (numbers), src/Common/MemoryTracker.cpp and
 * src/Interpreters/ProcessList.cpp (texts), and the documentation of the HTTP interface.
 */
#ifndef CLUSTER_AGENT_STORE_CLICKHOUSE_ERROR_H
#define CLUSTER_AGENT_STORE_CLICKHOUSE_ERROR_H

#include "common/base.h"

/* Codes that callers need by name; they are ClickHouse's. */
enum {
	CLICKHOUSE_UNKNOWN_DATABASE = 81,
	CLICKHOUSE_UNKNOWN_COMPRESSION_METHOD = 89,
	CLICKHOUSE_QUERY_WAS_CANCELLED = 394,
};

enum clickhouse_advice {
	CLICKHOUSE_FAULT,     /* any other: the statement or the server is at fault, not the rows */
	CLICKHOUSE_REFUSED,   /* the rows can never be inserted */
	CLICKHOUSE_TOO_LARGE, /* fewer rows may be inserted */
	CLICKHOUSE_BUSY,      /* passes by itself */
	CLICKHOUSE_ELSEWHERE, /* passes by itself; another replica may not have it */
	CLICKHOUSE_DENIED,    /* user, password or rights: somebody must change them */
	CLICKHOUSE_SCHEMA,    /* a table, its database or a column does not exist */
	CLICKHOUSE_SETTING,   /* a setting is unknown, or the user may not change it */
};

/* text is that of the exception; some codes have two meanings. */
enum clickhouse_advice clickhouse_advice(int code, const char *text, size_t len);

/* Whether the code is about who the user is, and not about what it may do. */
bool clickhouse_is_about_user(int code);

/* Whether a query that failed with this code may succeed in a moment. */
bool clickhouse_is_overload(int code);

/*
 * Returns N of the first "Code: N" with which a line or the text begins, or 0. Unlike
 * store_exception_code() it reads the form of old releases as well ("Code: 62, e.displayText()").
 */
int clickhouse_code(const char *text, size_t len);

/*
 * Servers from 25.11 on end an answer that fails midway with
 *	"\r\n__exception__\r\n<tag>\r\n<text>\n<length of text> <tag>\r\n__exception__\r\n"
 * where the tag is that of the header X-ClickHouse-Exception-Tag. If the answer ends so, returns
 * true and where the text is.
 */
#define CLICKHOUSE_TAG_BYTES 64u /* a longer tag is none */
bool clickhouse_find_trailer(const char *answer, size_t len, const char *tag, const char **ret_text,
			     size_t *ret_len);

#endif /* CLUSTER_AGENT_STORE_CLICKHOUSE_ERROR_H */
