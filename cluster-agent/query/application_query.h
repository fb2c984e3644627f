/*
 * Which services have profiles in a time range, of which types, and how busy they are.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_APPLICATION_QUERY_H
#define CLUSTER_AGENT_QUERY_APPLICATION_QUERY_H

#include "cluster-agent/query/bound_query.h"
#include "common/base.h"

/* Texts are borrowed from the answer, not NUL-terminated. */
struct application_type {
	const char *service;
	size_t service_len;
	const char *type;
	size_t type_len;
	int64_t last_seen_ns;
	bool has_cores; /* the type counts CPU time */
	double cores;
};

struct application {
	const struct application_type *types; /* by name */
	size_t n_types;
	int64_t last_seen_ns;
	bool has_cores;
	double cores; /* of its busiest type, as two profilers measure the same CPU time twice */
};

struct application_list {
	struct bound_query query; /* owns the texts */
	struct application_type *types;
	size_t n_types;
	struct application *items; /* cores descending, then name */
	size_t n_items;
	int64_t last_seen_ns; /* of any profile, also outside the range; 0: there is none */
};

/*
 * range has only times and a ticket. Cores are CPU time divided by wall time, which is the range
 * without what lies before the first and after the last profile of any service. Profiles of types
 * that leave gaps stand for the gaps, too: see TIMELINE_HOLD_NS. Errors are those of stack_query().
 * After 0 ret is released with application_list_fini().
 */
int application_query(struct store *store, const struct query_filter *range,
		      struct application_list *ret, struct err *err) MUST_CHECK;
void application_list_fini(struct application_list *l);

#endif /* CLUSTER_AGENT_QUERY_APPLICATION_QUERY_H */
