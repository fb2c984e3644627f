/*
 * What a side of a comparison uses per second, by a rule that makes two sides comparable, and the
 * time that a sum of profiles stands for.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_SIDE_RATE_H
#define CLUSTER_AGENT_QUERY_READ_SIDE_RATE_H

#include "cluster-agent/query/read/query_filter.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "common/base.h"
#include "common/err.h"

/* What the profiles of an instance have of a range, in ns. */
struct side_part {
	double value; /* within the range */
	int64_t covered_ns;
	int64_t begin_ns; /* of the first profile, or of the range if that is later */
	int64_t end_ns;   /* of the last one, or of the range if that is earlier */
	int64_t longest_ns;
};

/*
 * The factor from what the instances have to what they used while any of them is covered. Where an
 * instance lacks no more than one and a half of its profiles at an end, it is taken to have run as
 * in the rest, for as long again at most. Where it lacks more, it began or ended. Pure.
 */
double side_rate_edge_factor(const struct side_part *parts, size_t n);

/* As timeline_query_rate(), times that factor for sums over no more than six hours. */
int side_rate_query(struct store *store, const struct query_filter *f, struct timeline_rate *ret,
		    struct err *err) MUST_CHECK;

/* The time that a total stands for, over several selections. Starts as zeros. */
struct side_time {
	double total;
	double rate; /* per ns */
	double covered_ns;
};

/* Adds a selection with its total. Errors are those of stack_query(). */
int side_time_add(struct side_time *t, struct store *store, const struct query_filter *f,
		  int64_t total, struct err *err) MUST_CHECK;

/*
 * The total divided by this time is the rate. Scraped profiles stand for the time between them,
 * but their values are those of the seconds that they lasted. Of a level it is the time that
 * profiles cover.
 */
int64_t side_time_ns(const struct side_time *t);

#endif /* CLUSTER_AGENT_QUERY_READ_SIDE_RATE_H */
