/*
 * A function over all applications, from the sums of days (sums/function_sums.h).
 *
 * A range is that of its days in UTC: both the first and the last one count whole. Values of levels
 * are means over the days on which there are profiles. Where the store has no such sums, both
 * return -ENOSYS with a sentence in err.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_FLEET_QUERY_H
#define CLUSTER_AGENT_QUERY_READ_FLEET_QUERY_H

#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"

struct store;

#define FLEET_QUERY_MAX_APPLICATIONS 1000u
#define FLEET_QUERY_MAX_NAMES 100u
/* Functions of an application, version, type and day that have sums. */
#define FLEET_QUERY_KEPT 1000u

struct fleet_value {
	double self;
	double total;
	double whole; /* of all functions, on the days on which there is any profile */
};

struct fleet_version {
	const char *name; /* "" if the profiles say none */
	struct fleet_value value;
	int64_t first_ns; /* 00:00 of the first day on which it has profiles, in the range */
	int64_t last_ns;  /* and of the last one */
};

/* An application and type. Texts belong to the list. */
struct fleet_application {
	const char *service;
	const char *type;
	struct fleet_value value;
	int64_t since_ns; /* 00:00 of the first day with the function; 0: as long as profiles */
	double *days;     /* totals of days; NAN where there is no profile */
	struct fleet_version *versions; /* by name */
	size_t n_versions;
};

struct fleet_list {
	struct arena arena;
	struct fleet_version *versions; /* those of all items */
	size_t n_versions;
	size_t max_versions;
	struct fleet_application *items; /* largest total first */
	size_t n_items;
	size_t n_applications; /* also of those that are not in the list */
	double self;           /* of all of these; of a level it means nothing */
	double total;
	int64_t from_ns; /* 00:00 of the first day */
	uint32_t n_days;
	int64_t up_to_ns; /* what has been stored by then is in the sums; 0: there are none */
};

struct fleet_question {
	/* its times, a ticket, perhaps a service, and the type; NULL: all of CPU time */
	const struct query_filter *range;
	const char *function;
	const char *version; /* NULL: all */
	uint32_t max;        /* only so many applications */
};

/* Errors are those of stack_query(). After 0 ret is released with fleet_list_fini(). */
int fleet_query(struct store *store, const struct fleet_question *q, struct fleet_list *ret,
		struct err *err) MUST_CHECK;
void fleet_list_fini(struct fleet_list *l);

struct fleet_names {
	struct arena arena;
	const char *items[FLEET_QUERY_MAX_NAMES];
	size_t n_items;
};

/*
 * Functions whose names contain search, in any case, or begin with it if it has less than three
 * bytes: that name itself first, then those with the largest totals on the last two days of the
 * range. Released with arena_fini().
 */
int fleet_query_names(struct store *store, const struct query_filter *range, const char *search,
		      uint32_t limit, struct fleet_names *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_FLEET_QUERY_H */
