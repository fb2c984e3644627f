/* One statement on one connection of the embedded engine. */
#ifndef CLUSTER_AGENT_STORE_CHDB_STATEMENT_H
#define CLUSTER_AGENT_STORE_CHDB_STATEMENT_H

#include "cluster-agent/store/chdb_api.h"
#include "cluster-agent/store/store.h"

struct chdb_statement {
	const char *sql;
	size_t sql_len;
	const char *format;
	const struct store_param *params;
	size_t n_params;
	struct store_query_cost *cost; /* may be NULL */
};

/*
 * Runs it and appends its answer to out, unless that is NULL. Returns 0, -EREMOTEIO with the text
 * of the exception in out, -EFBIG, -E2BIG for too many parameters, or -ENOMEM.
 */
int chdb_run(const struct chdb_api *api, chdb_handle *conn, const struct chdb_statement *st,
	     struct buf *out, struct err *err) MUST_CHECK;
/* Answers in TSV. */
int chdb_run_sql(const struct chdb_api *api, chdb_handle *conn, const char *sql, struct buf *out,
		 struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_CHDB_STATEMENT_H */
