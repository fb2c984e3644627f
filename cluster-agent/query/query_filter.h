/*
 * What a reader asks about (service, type, range, instance) as bound
 * parameters and as the pieces of SQL that every query shares.
 *
 * An instance is a container of a service: its container.id for types the node
 * agent makes, "namespace/pod" for the others. "id@host" names it where the
 * same id exists on several hosts, as systemd units do.
 */
#ifndef CLUSTER_AGENT_QUERY_QUERY_FILTER_H
#define CLUSTER_AGENT_QUERY_QUERY_FILTER_H

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"

/* Strings are borrowed. Times in ns since the epoch; [from, to). */
struct query_filter {
	const char *service;
	const char *type;
	const char *instance; /* NULL or "": all */
	int64_t from_ns;
	int64_t to_ns;
};

#define QUERY_MAX_PARAMS 12u

/* One query on its way: SQL, parameters and answer. */
struct query {
	struct arena arena; /* of the texts of params */
	struct store_param params[QUERY_MAX_PARAMS];
	size_t n_params;
	struct buf sql;
	struct buf answer;
};

/* 0; -ENOMEM. Released with query_fini(), also after a failure. */
int query_init(struct query *q, const struct query_filter *f, size_t max_answer_bytes) MUST_CHECK;
void query_fini(struct query *q);

/*
 * Append to the SQL, in which ${range}, ${which} and so on stand for shared
 * pieces (see the table in query_filter.c).
 */
int query_add_sql(struct query *q, const struct query_filter *f, const char *template) MUST_CHECK;

/* Binds {name:UInt64}. */
int query_add_uint(struct query *q, const char *name, uint64_t value) MUST_CHECK;

/* Runs q->sql; q->answer then holds RowBinary. Errors as those of store_query(). */
int query_run(struct query *q, struct store *store, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_QUERY_FILTER_H */
