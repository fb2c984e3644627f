/*
 * A query on its way to the store: SQL from templates, the filter as bound parameters, the
 * answer.
 *
 * Nothing that comes from outside is pasted into SQL. Templates contain {name:Type}, which the
 * engine binds, and ${name}, which stands for SQL that several queries share (bound_query.c has
 * the table).
 *
 * Nothing that binds or adds returns an error: the first one is kept, and bound_query_run()
 * returns it.
 *
 * A query of two sides binds the second filter under names that begin with "base_", and adds the
 * same templates for either.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_BOUND_QUERY_H
#define CLUSTER_AGENT_QUERY_READ_BOUND_QUERY_H

#include "cluster-agent/query/read/query_filter.h"
#include "cluster-agent/store/rowbinary.h"
#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"

/* two filters with their matchers, and what the templates name */
#define BOUND_QUERY_MAX_PARAMS 96u

struct bound_query {
	struct store *store;               /* borrowed */
	const struct store_ticket *ticket; /* likewise; may be NULL */
	enum store_lane lane;              /* the page's, unless changed before the query runs */
	struct arena arena;                /* texts of params */
	struct store_param params[BOUND_QUERY_MAX_PARAMS];
	size_t n_params;
	int error;        /* the first one of what was bound and added, or 0 */
	const char *side; /* what names of parameters begin with: "" or "base_" */
	bool has_ids;     /* {types} and {ids} are bound */
	const char *by;   /* SQL that ${by} stands for; NULL: Labels[{by:String}] */
	struct buf sql;
	struct buf answer; /* RowBinary, once it has run */
};

/*
 * Binds what f says; released with bound_query_fini(). The store, which must outlive q, says what
 * its tables are called.
 */
void bound_query_init(struct bound_query *q, struct store *store, const struct query_filter *f,
		      size_t max_answer_bytes);
void bound_query_fini(struct bound_query *q);

/*
 * What is bound and added next is the base's, or again the selection's. The first change to the
 * base is followed by bound_query_bind() of its filter.
 */
void bound_query_use_side(struct bound_query *q, bool base);
/* Binds what f says, for the side that is in use. bound_query_init() has done so for the first. */
void bound_query_bind(struct bound_query *q, const struct query_filter *f);

/* Keeps r, 0 or an error, as the error of the query if it is the first one. */
static inline void bound_query_note(struct bound_query *q, int r)
{
	if (q->error == 0)
		q->error = r;
}

/* Appends to the SQL as printf() does: text without ${name}, for the first side. */
#define bound_query_addf(q, ...) bound_query_note(q, buf_addf(&(q)->sql, __VA_ARGS__))

/* Appends to the SQL. f chooses the shared pieces, and is what was bound for this side. */
void bound_query_add_sql(struct bound_query *q, const struct query_filter *f, const char *template);

/* Whether f asks for an instance or labels. */
bool query_filter_is_set(const struct query_filter *f);

/* Binds {name:UInt64}. */
void bound_query_add_uint(struct bound_query *q, const char *name, uint64_t value);
/* Binds {name:Array(UInt64)}. */
void bound_query_add_uints(struct bound_query *q, const char *name, const uint64_t *values,
			   size_t n);

/* Binds {name:String}. */
void bound_query_add_text(struct bound_query *q, const char *name, const char *value);

/* Bind {name:Array(String)} and {name:Array(Float64)}. */
void bound_query_add_texts(struct bound_query *q, const char *name, const char *const *values,
			   size_t n);
void bound_query_add_doubles(struct bound_query *q, const char *name, const double *values,
			     size_t n);

/*
 * Appends the expression of a label of label_sql.h, and binds what it needs; param is the name of
 * its parameter, if it has one.
 */
void bound_query_add_label(struct bound_query *q, const char *name, const char *param);
/*
 * Binds what rows are grouped by: after it, ${by} is the value of a label, or of several of
 * label_sql.h (n_labels above 0) in one text, with '\x01' between them.
 */
void bound_query_bind_by(struct bound_query *q, const char *label, const char *const *labels,
			 size_t n_labels);
/*
 * Appends " AND <condition>" for each matcher. Names are stored labels or QUERY_FILTER_INSTANCE of
 * f's profiles; those of label_sql.h if f is NULL or has plain_labels.
 */
void bound_query_add_matchers(struct bound_query *q, const struct label_matchers *where,
			      const struct query_filter *f);
/* Binds the names and values of these conditions. */
void bound_query_bind_matchers(struct bound_query *q, const struct label_matchers *where);

/*
 * Runs the SQL and fills answer. Errors are those of store_query(), where -EFBIG is also that the
 * engine may not use as much memory, and -ENOMEM that others use it at present; and -EINVAL if a
 * regular expression of the filter's matchers is invalid.
 */
int bound_query_run(struct bound_query *q, struct err *err) MUST_CHECK;

/*
 * Likewise, of a table without which the store works: -ENOSYS with the sentence `missing` if it is
 * not there, or may not be read.
 */
int bound_query_run_optional(struct bound_query *q, const char *missing,
			     struct err *err) MUST_CHECK;

/*
 * All of the above for a query that is one template: init, add_sql, run. Released with
 * bound_query_fini() in every case.
 */
int bound_query_ask(struct bound_query *q, struct store *store, const struct query_filter *f,
		    size_t max_answer_bytes, const char *template, struct err *err) MUST_CHECK;

/* After the answer was read: returns 0, or -EBADMSG with a sentence in err if it was malformed. */
int bound_query_check(const struct rowbinary_reader *r, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_BOUND_QUERY_H */
