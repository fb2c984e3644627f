/*
 * What a request to ClickHouse's HTTP interface asks for: the SQL, and where the data of an INSERT
 * begins. The query parameter and the body are one text to the server, joined by a newline. Pure.
 */
#ifndef TEST_STORE_SERVER_STATEMENT_H
#define TEST_STORE_SERVER_STATEMENT_H

#include "common/base.h"
#include "common/data/buf.h"

struct server_statement {
	bool has_data;      /* INSERT … FORMAT x: data follows the SQL */
	size_t source_at;   /* of an INSERT with data: where FROM INFILE can be inserted */
	size_t sql_len;     /* without the data */
	size_t data_offset; /* where the data begins in the text */
};

/* Only an INSERT with a FORMAT clause has data; VALUES are part of the SQL. */
void server_statement_split(const char *text, size_t len, struct server_statement *ret);

/*
 * KILL QUERY WHERE query_id = … finds queries by the id that the client chose. chDB chooses ids
 * itself, so the client's is kept as the setting log_comment, and the column is replaced. Appends
 * the statement to out. Returns what buf_add() does.
 */
int server_statement_add(struct buf *out, const char *sql, size_t len) MUST_CHECK;

/* The HTTP status that belongs to an exception: exceptionCodeToHTTPStatus() of ClickHouse 26. */
unsigned server_status(int exception_code);

#endif /* TEST_STORE_SERVER_STATEMENT_H */
