/*
 * A query on its way to the store: SQL from templates, the filter as bound parameters, the
 * answer.
 *
 * Nothing that comes from outside is pasted into SQL. Templates contain {name:Type}, which the
 * engine binds, and ${name}, which stands for SQL that several queries share (bound_query.c has
 * the table).
 */
#ifndef CLUSTER_AGENT_QUERY_BOUND_QUERY_H
#define CLUSTER_AGENT_QUERY_BOUND_QUERY_H

#include "cluster-agent/query/query_filter.h"
#include "cluster-agent/store/rowbinary.h"
#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"

#define BOUND_QUERY_MAX_PARAMS 12u

struct bound_query {
	struct store *store;               /* borrowed */
	const struct store_ticket *ticket; /* likewise; may be NULL */
	struct arena arena;                /* texts of params */
	struct store_param params[BOUND_QUERY_MAX_PARAMS];
	size_t n_params;
	struct buf sql;
	struct buf answer; /* RowBinary, once it has run */
};

/*
 * Binds what f says. Returns 0 or -ENOMEM; released with bound_query_fini() in both cases. The
 * store, which must outlive q, says what its tables are called.
 */
int bound_query_init(struct bound_query *q, struct store *store, const struct query_filter *f,
		     size_t max_answer_bytes) MUST_CHECK;
void bound_query_fini(struct bound_query *q);

/* Appends to the SQL. f chooses the shared pieces. */
int bound_query_add_sql(struct bound_query *q, const struct query_filter *f,
			const char *template) MUST_CHECK;

/* Binds {name:UInt64}. */
int bound_query_add_uint(struct bound_query *q, const char *name, uint64_t value) MUST_CHECK;

/* Runs the SQL and fills answer. Errors are those of store_query(). */
int bound_query_run(struct bound_query *q, struct err *err) MUST_CHECK;

/*
 * All of the above for a query that is one template: init, add_sql, run. Released with
 * bound_query_fini() in every case.
 */
int bound_query_ask(struct bound_query *q, struct store *store, const struct query_filter *f,
		    size_t max_answer_bytes, const char *template, struct err *err) MUST_CHECK;

/* After the answer was read: returns 0, or -EBADMSG with a sentence in err if it was malformed. */
int bound_query_check(const struct rowbinary_reader *r, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_BOUND_QUERY_H */
