/*
 * What there is, as Prometheus and Grafana ask for it: series, which are services with a type of
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

/* A selector, "{service_name=\"a\", pod=~\"b.*\"}". Its texts are its own: must not be moved. */
struct series_selector {
	struct label_matchers labels; /* those that need the labels of samples */
	struct label_matchers series; /* those that service and type decide; texts are in labels */
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

/*
 * Calls fn for each different combination of values of these labels (1 to SERIES_MAX_LABELS) that a
 * profile has which overlaps the range, in their order; SERIES_MAX_ROWS at most. Of range, times
 * and ticket are read. Errors are those of stack_query().
 */
int series_query(struct store *store, const struct query_filter *range,
		 const struct series_selector *selector, const char *const *labels, size_t n_labels,
		 series_fn fn, void *ctx, struct err *err) MUST_CHECK;

/* Likewise, for the names of stored labels, as they are stored. */
int series_query_names(struct store *store, const struct query_filter *range,
		       const struct series_selector *selector, series_fn fn, void *ctx,
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
