/*
 * A request to the SQL port, read from its exchange: who asks, what runs, and how the answer is
 * to be written. Reading needs no engine and does not block.
 */
#ifndef CLUSTER_AGENT_SQL_SQL_REQUEST_H
#define CLUSTER_AGENT_SQL_SQL_REQUEST_H

#include "cluster-agent/sql/clickhouse_http.h"
#include "cluster-agent/sql/sql_command.h"
#include "cluster-agent/sql/sql_encoding.h"
#include "cluster-agent/sql/sql_guard.h"
#include "cluster-agent/sql/sql_settings.h"
#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"
#include "common/http/http_exchange.h"

#define SQL_REQUEST_MAX_PARAMS 32

struct sql_request {
	struct http_exchange *exchange;
	struct buf sql;                                    /* empty: a client that only knocks */
	struct buf form;                                   /* the body, if it is a form */
	struct store_param params[SQL_REQUEST_MAX_PARAMS]; /* of the exchange, or of form */
	size_t n_params;
	struct sql_setting settings[SQL_SETTINGS_MAX]; /* of the URL, for the engine */
	size_t n_settings;
	struct sql_encoding encoding;
	const char *format; /* one of sql_formats.h */
	struct sql_facts facts;
	struct sql_command
		command; /* for SQL_COMMAND_KILL, sql is the query whose rows are the answer */
};

/* Whether x presents a key for reading in one of the ways that ClickHouse's clients have. */
bool sql_request_has_key(const struct http_exchange *x, const struct access *a);

/*
 * The client's name for its query, or a new one if it gives none that is printable and has up to
 * SQL_QUERY_ID_BYTES - 1 bytes. ret has SQL_QUERY_ID_BYTES.
 */
void sql_request_query_id(const struct http_exchange *x, char *ret);

/*
 * Reads x, which r borrows. Returns 0, or a negative errno, with ClickHouse's code for the refusal
 * in *ret_code and a sentence in err. r needs sql_request_fini() in every case.
 */
int sql_request_read(struct sql_request *r, struct http_exchange *x, enum clickhouse_code *ret_code,
		     struct err *err) MUST_CHECK;
void sql_request_fini(struct sql_request *r);

/* The value of a setting that the engine gets; NULL if it is not given. */
const char *sql_request_setting(const struct sql_request *r, const char *name);

#endif /* CLUSTER_AGENT_SQL_SQL_REQUEST_H */
