/*
 * Answers of the SQL port, as ClickHouse's clients expect them: rows with the headers that go with
 * them, and exceptions. Every function but sql_answer_describe() and sql_answer_encode() answers
 * the exchange.
 */
#ifndef CLUSTER_AGENT_SQL_SQL_ANSWER_H
#define CLUSTER_AGENT_SQL_SQL_ANSWER_H

#include "cluster-agent/sql/sql_request.h"
#include "cluster-agent/sql/sql_server.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

/* Headers that every answer has. For once, before the answer. */
void sql_answer_describe(struct http_exchange *x, const struct sql_server *server,
			 const char *query_id);

/*
 * Makes the rows in out, in r's format, what the client has asked for, and reserves the memory
 * that they take until the client has read them. Returns 0, or a negative
 * errno with ClickHouse's code for it in *ret_code and a sentence in err; r is not answered then.
 */
int sql_answer_encode(struct sql_request *r, struct buf *out, enum clickhouse_code *ret_code,
		      struct err *err) MUST_CHECK;

/* Answers with what sql_answer_encode() has made; takes the content of out. */
void sql_answer_rows(struct sql_request *r, const struct sql_server *server,
		     const struct store_query_cost *cost, struct buf *out);

/* An exception of the engine: text is its whole text, whose content is taken. */
void sql_answer_exception(struct http_exchange *x, const struct sql_server *server,
			  struct buf *text);

/* An exception of ours; text is a sentence without its full stop. */
void sql_answer_refusal(struct http_exchange *x, const struct sql_server *server,
			enum clickhouse_code code, const char *text);

#endif /* CLUSTER_AGENT_SQL_SQL_ANSWER_H */
