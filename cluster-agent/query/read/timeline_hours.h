/*
 * Windows of a timeline whose steps are of hours: what the store has added up by set of labels and
 * hour (projections.h) in place of the profiles. No window but those at the ends of the range
 * reaches beyond an hour, so values of steps are those of the profiles.
 *
 * Only for profiles that profiling_quality has all of (profile_source.h).
 */
#ifndef CLUSTER_AGENT_QUERY_READ_TIMELINE_HOURS_H
#define CLUSTER_AGENT_QUERY_READ_TIMELINE_HOURS_H

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/label_sets.h"
#include "cluster-agent/query/read/query_filter.h"
#include "cluster-agent/query/read/timeline.h"
#include "common/base.h"
#include "common/err.h"

/* Whether no step of t but the first begins within an hour, and there are enough hours. */
bool timeline_hours_fit(const struct query_filter *f, const struct timeline *t);

/* The sets of labels of a filter's profiles, for several queries. */
struct hour_sets {
	uint64_t *items;
	size_t n;
	bool is_list; /* false: there is no filter, or there are too many, and SQL finds them */
};

/* Takes the sets of f, in their order. After 0 ret is released with hour_sets_fini(). */
int hour_sets_of(const struct label_sets *sets, const struct query_filter *f,
		 struct hour_sets *ret) MUST_CHECK;
void hour_sets_fini(struct hour_sets *s);

/*
 * Appends a SELECT of [series, ]start, end, value and two further columns (UInt8, Int64), after a
 * WITH of the caller. series is an expression of LabelSet with a comma, or "". {sum} is bound.
 */
void timeline_hours_add(struct bound_query *q, const struct query_filter *f,
			const struct hour_sets *sets, const struct timeline *t, const char *series);

struct hour_windows {
	struct timeline_window *items; /* NULL: not asked for */
	size_t n;
};

/*
 * Finds the windows of all profiles of the filter; ret->items is the caller's. Gaps between
 * profiles of one set of labels count if they are longer than 5 s. f->source is known. series are
 * the rows of the SELECT above by series, if there are any: their values are not asked for again
 * then. Errors are those of bound_query_run().
 */
int timeline_hours_query(struct store *store, const struct query_filter *f,
			 const struct timeline *t, const struct buf *series,
			 struct hour_windows *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_TIMELINE_HOURS_H */
