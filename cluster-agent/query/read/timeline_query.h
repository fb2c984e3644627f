/*
 * How much of a profile type a service uses over time, and which of its instances use it.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_TIMELINE_QUERY_H
#define CLUSTER_AGENT_QUERY_READ_TIMELINE_QUERY_H

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/profile_source.h"
#include "cluster-agent/query/read/timeline.h"
#include "common/base.h"

/*
 * A scraped profile stands for the time until the next one of its instance, if that began
 * within this time after its end: with a scrape per minute, one may fail.
 */
#define TIMELINE_HOLD_NS (INT64_C(150) * 1000 * 1000 * 1000)
#define TIMELINE_QUERY_MAX_INSTANCES 1000u

/* Fills t->steps. Errors are those of stack_query(). */
int timeline_query(struct store *store, const struct query_filter *f, struct timeline *t,
		   struct err *err) MUST_CHECK;

/*
 * The same; series are the rows of timeline_hours_query(), or NULL. They are of this filter and
 * this timeline.
 */
int timeline_query_of(struct store *store, const struct query_filter *f, struct timeline *t,
		      const struct buf *series, struct err *err) MUST_CHECK;

/* Sets *ret_ns to the time within the range that profiles cover; nothing is held. */
int timeline_query_covered(struct store *store, const struct query_filter *f, double *ret_ns,
			   struct err *err) MUST_CHECK;

/* As of a timeline with one step. */
struct timeline_rate {
	double value; /* of sums: per second; of levels: their mean; 0 if nothing is covered */
	double covered_ns;
};

int timeline_query_rate(struct store *store, const struct query_filter *f,
			struct timeline_rate *ret, struct err *err) MUST_CHECK;

struct timeline_instance {
	const char *id; /* borrowed from the answer, not NUL-terminated */
	size_t id_len;
	const char *host;
	size_t host_len;
	double value; /* as that of a timeline with one step */
};

struct timeline_instances {
	struct bound_query query; /* owns the texts, as does this, or that of the filter: */
	struct profile_source source;
	struct timeline_instance *items;
	size_t n_items; /* value descending; at most TIMELINE_QUERY_MAX_INSTANCES */
	bool has_hosts; /* there are several hosts, on which ids may repeat */
};

/*
 * t: the filter's timeline. After 0 ret is released with timeline_instances_fini(). f->instance is
 * ignored.
 */
int timeline_query_instances(struct store *store, const struct query_filter *f,
			     const struct timeline *t, struct timeline_instances *ret,
			     struct err *err) MUST_CHECK;
void timeline_instances_fini(struct timeline_instances *i);

#endif /* CLUSTER_AGENT_QUERY_READ_TIMELINE_QUERY_H */
