/*
 * Metadata as Prometheus and Grafana request it: series, which are services with a type of
 * profile, by selectors on labels; values and names of labels; and which types of which services an
 * id of a profile type stands for.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_SERIES_QUERY_H
#define CLUSTER_AGENT_QUERY_READ_SERIES_QUERY_H

#include "cluster-agent/query/read/label_matchers.h"
#include "cluster-agent/query/read/profile_ids.h"
#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"

struct store;

#define SERIES_MAX_LABELS 8u
#define SERIES_MAX_ROWS 100000u

#define SERIES_TYPE_BYTES 256u

/*
 * A selector, "{service_name=\"a\", pod=~\"b.*\"}". An id of a profile type, or the first part of
 * one, may stand in front of it, as in what Grafana's variables ask. Its texts are its own: must
 * not be moved.
 */
struct series_selector {
	struct label_matchers labels; /* those that need the labels of samples */
	struct label_matchers series; /* those that service and type decide; texts are in labels */
	char type[SERIES_TYPE_BYTES]; /* what stood in front */
};

/* As label_matchers_parse(); names are those of label_sql.h. "" selects everything. */
int series_selector_parse(struct series_selector *ret, const char *text,
			  struct err *err) MUST_CHECK;

/* Values of labels of a series; not NUL-terminated, valid during the call. */
struct series_value {
	const char *text;
	size_t len;
};

/* A negative result ends the query, which then returns it. */
typedef int (*series_fn)(void *ctx, const struct series_value *values);

struct series_question {
	const struct query_filter *range; /* times and ticket */
	const struct series_selector *selector;
	const char *const *labels; /* NULL: the names of stored labels are asked for */
	size_t n_labels;           /* 1 to SERIES_MAX_LABELS */
	series_fn fn;
	void *ctx;
};

/*
 * Calls fn for each different combination of values of the labels, in their order, that a profile
 * has which overlaps the range; SERIES_MAX_ROWS times at most. Errors are those of stack_query().
 */
int series_query(struct store *store, const struct series_question *question,
		 struct err *err) MUST_CHECK;

/* Services that have profiles of one type, as filters of the other queries. */
struct series_selection {
	struct arena arena;
	struct query_filter items[PROFILE_ID_MAX_TYPES]; /* of different types */
	size_t n_items;                                  /* 0: nothing is selected */
};

/*
 * Finds what an id of a profile type and a selector stand for. Each service is in one item: that of
 * the first type of profile_id_types() that it has. The items borrow the selector and types, and
 * are released with series_selection_fini(), in every case.
 */
int series_select(struct store *store, const struct query_filter *range,
		  const struct series_selector *selector, const struct profile_id_types *types,
		  struct series_selection *ret, struct err *err) MUST_CHECK;
void series_selection_fini(struct series_selection *s);

#endif /* CLUSTER_AGENT_QUERY_READ_SERIES_QUERY_H */
