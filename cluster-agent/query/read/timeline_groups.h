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

struct timeline_group {
	const char *name;     /* NULL: all others */
	const double *values; /* as many as all has steps; NAN where that covers nothing */
};

/* A negative result ends the query, which then returns it. */
typedef int (*timeline_group_fn)(void *ctx, const struct timeline_group *group);

/*
 * Calls fn per series, the largest first, "all others" last. A series has the steps of the timeline
 * of all, and its share of what that covers, so that the series add up to it. Errors are those of
 * stack_query().
 */
int timeline_groups_query(struct store *store, const struct query_filter *f,
			  const struct timeline_by *by, timeline_group_fn fn, void *ctx,
			  struct err *err) MUST_CHECK;

struct timeline_groups;

/*
 * The same in two steps, where the timeline of all is not known yet: this fills it, of series that
 * are asked for at once if they are all that it needs. all is by->all; f and by are used until the
 * end, and by->with_host may be set in between. After 0 *ret is the caller's.
 */
int timeline_groups_open(struct timeline_groups **ret, struct store *store,
			 const struct query_filter *f, const struct timeline_by *by,
			 struct timeline *all, struct err *err) MUST_CHECK;
int timeline_groups_each(struct timeline_groups *g, timeline_group_fn fn, void *ctx,
			 struct err *err) MUST_CHECK;
void timeline_groups_freep(struct timeline_groups **g);

/* Writes {"name", "values"} per series, likewise, as elements of an array. */
int timeline_groups_write(struct json_writer *w, struct timeline_groups *g,
			  struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_TIMELINE_GROUPS_H */
