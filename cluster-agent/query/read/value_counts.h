/*
 * How many profiles had which value, over time: the counts of a heatmap as Pyroscope has it. Each
 * profile counts once, in the step in which it ends.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_VALUE_COUNTS_H
#define CLUSTER_AGENT_QUERY_READ_VALUE_COUNTS_H

#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/err.h"

struct store;

/* Buckets of equal height between the smallest and the largest value. */
#define VALUE_COUNTS_BUCKETS 20u

/* Totals of profiles. */
struct value_bounds {
	double least; /* INFINITY if there are no profiles */
	double most;  /* -INFINITY */
};

struct value_counts_form {
	const char *const *labels; /* names of label_sql.h, TIMELINE_MOST_LABELS at most */
	size_t n_labels;
	struct value_bounds bounds; /* of the buckets; most is above least */
	int64_t step_ns;
	uint32_t n_steps;   /* from the start of the filter's range */
	uint32_t max_names; /* those with the largest sums of values */
};

struct value_count {
	const char *name; /* values of the labels, with TIMELINE_SEPARATOR between them */
	size_t name_len;
	uint32_t step;
	uint32_t bucket;
	uint64_t n;
	double sum; /* of the values */
};

/* A negative result ends the query, which then returns it. */
typedef int (*value_count_fn)(void *ctx, const struct value_count *c);

/* Widens *bounds to the profiles of the filter. Errors are those of stack_query(). */
int value_bounds_query(struct store *store, const struct query_filter *f,
		       struct value_bounds *bounds, struct err *err) MUST_CHECK;

/* Calls fn for each count that is not 0. Errors are those of stack_query(). */
int value_counts_query(struct store *store, const struct query_filter *f,
		       const struct value_counts_form *form, value_count_fn fn, void *ctx,
		       struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_VALUE_COUNTS_H */
