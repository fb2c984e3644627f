/*
 * How much of a type a service uses over time, and which instances do.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_TIMELINE_QUERY_H
#define CLUSTER_AGENT_QUERY_TIMELINE_QUERY_H

#include "cluster-agent/query/bound_query.h"
#include "cluster-agent/query/timeline.h"
#include "common/base.h"

/*
 * Profiles of types that are scraped stand for the time until the next of their instance, if that
 * began no later than so after their end: a scrape a minute may fail once.
 */
#define TIMELINE_HOLD_NS (INT64_C(150) * 1000 * 1000 * 1000)
#define TIMELINE_QUERY_MAX_INSTANCES 1000u

/* Fill t->steps. Errors as those of stack_query(). */
int timeline_query(struct store *store, const struct query_filter *f, struct timeline *t,
		   struct err *err) MUST_CHECK;

/* Time within the range that any profile of the filter itself covers, gaps left out. */
int timeline_query_covered(struct store *store, const struct query_filter *f, double *ret_ns,
			   struct err *err) MUST_CHECK;

struct timeline_instance {
	const char *id; /* borrowed from the answer, not NUL-terminated */
	size_t id_len;
	const char *host;
	size_t host_len;
	double value; /* as a step of the timeline, over the whole range */
};

struct timeline_instances {
	struct bound_query query; /* owns the texts */
	struct timeline_instance *items;
	size_t n_items; /* value descending; at most TIMELINE_QUERY_MAX_INSTANCES */
	bool has_hosts; /* several hosts: ids alone do not tell them apart */
};

/* ret is released with timeline_instances_fini() after 0. f->instance does not matter. */
int timeline_query_instances(struct store *store, const struct query_filter *f,
			     struct timeline_instances *ret, struct err *err) MUST_CHECK;
void timeline_instances_fini(struct timeline_instances *i);

#endif /* CLUSTER_AGENT_QUERY_TIMELINE_QUERY_H */
