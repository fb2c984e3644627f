/*
 * The sets of labels of a range's profiles, and what the profiles of each set have used: of one
 * question, series by label, their order and the list of instances are all made of these. There are
 * few sets, and the engine needs longer to join a hundred of them than to add up what they used.
 *
 * Only for profiles that profiling_quality has all of (profile_source.h). Blocks on the store.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_LABEL_SETS_H
#define CLUSTER_AGENT_QUERY_READ_LABEL_SETS_H

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/err.h"

struct store;
struct timeline_by;

/* Not NUL-terminated; belongs to the sets. */
struct label_text {
	const char *text;
	size_t len;
};

struct label_set {
	uint64_t hash; /* LabelSet of profiling_quality */
	struct label_text id;
	struct label_text host;
	struct label_text name; /* the value of the label that series are made by */
	bool is_chosen;         /* by the filter, if it has an instance */
	bool is_listed;         /* by the filter without its instance */
	bool is_used;           /* there are profiles in the range */
	double value;           /* the sum of their parts within it, of levels the integral in ns */
};

struct label_sets {
	struct label_set *items; /* by hash; one each */
	size_t n_items;
	bool of_instance; /* the filter that they were found by has one */
	bool has_values;
	bool has_hosts; /* listed sets that are used are of several hosts */
	struct bound_query labels;
};

/*
 * Sets *ret to the sets of f, which f->source keeps: it must not be NULL. With `by`, which says
 * what names are of, they are found anew, and for the first filter with an instance. Of sets that
 * the range's days have, some may have no profile in it. Errors are those of bound_query_run().
 */
int label_sets_find(struct store *store, const struct query_filter *f, const struct timeline_by *by,
		    struct label_sets **ret, struct err *err) MUST_CHECK;

/* Finds out what is used, if that is not known yet. */
int label_sets_find_values(struct store *store, const struct query_filter *f, struct label_sets *s,
			   struct err *err) MUST_CHECK;

/* Whether a set is one of f's: those of f->source, or of the same filter without its instance. */
bool label_set_is_of(const struct label_set *s, const struct query_filter *f);

/* What values are added up by. */
enum label_sum_by {
	LABEL_SUM_BY_NAME,
	LABEL_SUM_BY_ID,
	LABEL_SUM_BY_ID_AND_HOST,
};

struct label_sum {
	struct label_text name; /* or id */
	struct label_text host; /* empty if it is not asked for */
	double value;
};

bool label_sum_has(const struct label_sum *sum, const struct label_set *s, enum label_sum_by by);

/*
 * Adds up the values of the sets of f that are used. After 0 *ret is the caller's, largest value
 * first; its texts belong to the sets.
 */
int label_sets_sum(const struct label_sets *s, const struct query_filter *f, enum label_sum_by by,
		   struct label_sum **ret, size_t *ret_n) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_LABEL_SETS_H */
