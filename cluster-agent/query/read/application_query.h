/*
 * The services that have profiles in a time range, the types of these, and the CPU time in cores.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_APPLICATION_QUERY_H
#define CLUSTER_AGENT_QUERY_READ_APPLICATION_QUERY_H

#include "cluster-agent/query/read/bound_query.h"
#include "common/base.h"

#define APPLICATION_MAX_POINTS 100u

struct application_question {
	const struct query_filter *range; /* times, a ticket, and perhaps a service; no more */
	const char *search;               /* words; the name has them all. NULL or "": any name */
	uint32_t n_points;                /* steps of a sparkline; 0: no sparklines */
	uint32_t max;                     /* only so many, the busiest; 0: as many as fit */
};

/* Texts are borrowed from the answer, not NUL-terminated. */
struct application_type {
	const char *service;
	size_t service_len;
	const char *type;
	size_t type_len;
	int64_t first_seen_ns; /* start of its first profile, as far as is known */
	int64_t begin_ns;      /* start of its first profile that overlaps the range */
	int64_t last_seen_ns;  /* end of its last profile that overlaps the range */
	bool has_cores;        /* the type counts CPU time */
	bool leaves_gaps;      /* its profiles are samples of time: they are scraped */
	double cores;
	const double *spark; /* cores per step, NAN where there is no profile; NULL if not asked */
};

struct application {
	const struct application_type *types; /* by name */
	size_t n_types;
	int64_t first_seen_ns;
	int64_t last_seen_ns;
	bool has_cores;
	/* Of its busiest type, as two profilers measure the same CPU time twice. */
	double cores;
	const double *spark; /* likewise; NULL if no type counts CPU time or none was asked for */
};

struct application_list {
	struct bound_query query; /* owns the texts */
	struct application_type *types;
	size_t n_types;
	double *sparks;
	uint32_t n_points;
	struct application *items; /* cores descending, then name */
	size_t n_items;
	size_t n_services;    /* also of those that are not in the list */
	int64_t until_ns;     /* cores are of the range up to here */
	int64_t last_seen_ns; /* of any profile, also outside the range; 0: there is none */
};

/*
 * Cores are CPU time divided by wall time, which is the range without what lies before the first
 * and after the last profile of any service (with range->service: of that service), and without the
 * newest minute, which some agents have yet to send (timeline_tail.h). Profiles of
 * types that leave gaps stand for the gaps, too: see TIMELINE_HOLD_NS. first_seen_ns may be up to
 * a day later than the truth if the first profile was before the range. Errors are those of
 * stack_query(). The list is cut to the busiest where its text would be more than 16 MiB.
 * Sparklines are missing if those of all services are more than 64 MiB. After 0 ret is released
 * with application_list_fini().
 */
int application_query(struct store *store, const struct application_question *question,
		      struct application_list *ret, struct err *err) MUST_CHECK;
void application_list_fini(struct application_list *l);

/*
 * The namespace of "/k8s/<namespace>/…" and "/k8s-cronjob/<namespace>/…", within that text.
 * *ret_len is 0 for all other services.
 */
const char *application_namespace(const char *service, size_t len, size_t *ret_len);

#endif /* CLUSTER_AGENT_QUERY_READ_APPLICATION_QUERY_H */
