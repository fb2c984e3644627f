/*
 * The timeline of a service by the values of one label: a series for each of the largest, and one
 * for all others.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_TIMELINE_GROUPS_H
#define CLUSTER_AGENT_QUERY_READ_TIMELINE_GROUPS_H

#include "cluster-agent/query/read/query_filter.h"
#include "cluster-agent/query/read/timeline.h"
#include "common/base.h"
#include "common/err.h"
#include "common/text/json_writer.h"

struct store;

#define TIMELINE_MAX_GROUPS 10u
#define TIMELINE_BY_INSTANCE "instance"

struct timeline_by {
	const char *label;          /* or TIMELINE_BY_INSTANCE */
	bool with_host;             /* instances are called id@host, as ids repeat on hosts */
	const struct timeline *all; /* the timeline of all of them, filled */
	double divisor;             /* of values */
};

/*
 * Writes {"name", "values"} per series, the largest first, as elements of an array. A series has
 * the steps of the timeline of all, and its share of what that covers, so that the series add up
 * to it. Errors are those of stack_query().
 */
int timeline_groups_write(struct json_writer *w, struct store *store, const struct query_filter *f,
			  const struct timeline_by *by, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_TIMELINE_GROUPS_H */
