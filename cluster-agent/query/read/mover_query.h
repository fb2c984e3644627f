/*
 * Movers: the functions whose own CPU time changed most between two ranges, over all services.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_MOVER_QUERY_H
#define CLUSTER_AGENT_QUERY_READ_MOVER_QUERY_H

#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"

struct store;

#define MOVER_QUERY_MAX 100u

struct mover {
	const char *service; /* texts belong to the list */
	const char *type;
	const char *name;
	const char *file;
	int64_t self; /* CPU time in ns, as the flame graph of the same range has it */
	int64_t base_self;
	double cores; /* while the service had profiles */
	double base_cores;
	int64_t base_from_ns; /* if the base is not that of the list (mover_bases.h), else 0 */
	int64_t base_to_ns;
};

struct mover_list {
	struct arena arena;
	struct mover *items; /* by the amount of the change of cores */
	size_t n_items;
	int64_t base_from_ns;
	int64_t base_to_ns;
	const char **unbased; /* services that have profiles in the range and none in the base's */
	size_t n_unbased;     /* sorted by name; none of their functions is listed */
	bool has_data[2];     /* whether there is any profile in the range, and in the base's */
	double cores[2];      /* of all services in the range, and in the base's */
	double covered_ns[2]; /* from the first to the last profile in it */
	size_t n_services;
	size_t n_services_cut; /* too small to be looked at */
	double cut_cores;      /* no function of these changed by more than this */
};

/*
 * range has times, a ticket, symbols, and perhaps a service or sorted `services`; of base only the
 * times are read. At most limit (MOVER_QUERY_MAX) functions are listed; none if one of the ranges
 * has no profile at all. A service without profiles in the base's range cannot be compared: all of
 * its functions would be new, and larger than what has really changed. Errors are those of
 * stack_query(). After 0 ret is released with mover_list_fini().
 */
int mover_query(struct store *store, const struct query_filter *range,
		const struct query_filter *base, uint32_t limit, struct mover_list *ret,
		struct err *err) MUST_CHECK;
void mover_list_fini(struct mover_list *l);

#endif /* CLUSTER_AGENT_QUERY_READ_MOVER_QUERY_H */
