/*
 * Profile windows → one value per step of a time range. Pure.
 *
 * A profile says how much happened between its start and its end, but not when. So its value is
 * spread evenly over that window, and each step receives the part that overlaps it. A step's
 * value is then divided by the time within it that any profile covers: a step of which half
 * lies in the future is not half as busy. Steps that no profile covers have no value (NAN).
 */
#ifndef CLUSTER_AGENT_QUERY_READ_TIMELINE_H
#define CLUSTER_AGENT_QUERY_READ_TIMELINE_H

#include "cluster-agent/query/read/profile_types.h"
#include "common/base.h"

/*
 * Times in ns since the Unix epoch. A window that does not end after its start comes from a
 * sender that gives no duration. A summed value is then spread over the second before its end,
 * as within 1 ns it would be millions of cores; a level counts for 1 ns.
 */
struct timeline_window {
	int64_t start_ns;
	int64_t end_ns;
	double value;
	bool is_value; /* that is what counts of it: it does not cover any time */
};

struct timeline_step {
	/* of sums: per second (CPU time: ns per s); of levels: their mean */
	double value;
	double covered_ns;
};

struct timeline {
	int64_t from_ns;
	int64_t step_ns; /* above 0; n_steps of them must not overflow int64_t */
	uint32_t n_steps;
	enum profile_aggregation aggregation;
	struct timeline_step *steps; /* the caller's, n_steps */
	double covered_ns;           /* of the range, where timeline_query() found it; else 0 */
};

/* Series of a timeline by the values of labels. */
#define TIMELINE_MAX_GROUPS 10u
#define TIMELINE_MOST_GROUPS 1000u
#define TIMELINE_MOST_LABELS 8u
/* between the values of several labels, in the name of a series */
#define TIMELINE_SEPARATOR '\x01'

struct timeline_by {
	const char *label;         /* or QUERY_FILTER_INSTANCE; ignored if there are `labels` */
	const char *const *labels; /* names of label_sql.h, TIMELINE_MOST_LABELS at most */
	size_t n_labels;
	uint32_t max_groups;        /* TIMELINE_MOST_GROUPS at most; 0: TIMELINE_MAX_GROUPS */
	bool with_host;             /* instances are called id@host, as ids repeat on hosts */
	const struct timeline *all; /* the timeline of all of them, filled */
	double divisor;             /* of values */
};

/* Fills t->steps. Sorts windows by start. */
void timeline_fill(struct timeline *t, struct timeline_window *windows, size_t n_windows);

/* How much of [from_ns, to_ns) windows cover that are sorted by start, as timeline_fill() does. */
double timeline_covered_ns(const struct timeline_window *windows, size_t n_windows, int64_t from_ns,
			   int64_t to_ns);

/*
 * Returns a round step of at least 1 s, so that the range has at most n_points of them. From one
 * hour on it is of whole hours.
 */
int64_t timeline_step_ms(int64_t range_ms, uint32_t n_points);

/*
 * Sets from_ns, step_ns and n_steps for at most n_points steps of [from_ns, to_ns). Steps of hours
 * begin with an hour, so that the first one may begin before from_ns.
 */
void timeline_set_steps(struct timeline *t, int64_t from_ns, int64_t to_ns, uint32_t n_points);

#endif /* CLUSTER_AGENT_QUERY_READ_TIMELINE_H */
