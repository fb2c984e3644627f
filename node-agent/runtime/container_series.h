/*
 * The labelled series of one process: lines of metric families that have labels besides the
 * container's, such as the name of a garbage collector. Their number is limited. Not locked:
 * runtime_containers.c does that.
 */
#ifndef NODE_AGENT_RUNTIME_CONTAINER_SERIES_H
#define NODE_AGENT_RUNTIME_CONTAINER_SERIES_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/runtime/runtime_containers.h"

struct series_entry;

/* Empty when zeroed. */
struct series_list {
	struct series_entry *entries;
	size_t n;
};

void series_list_clear(struct series_list *l);

/*
 * Replaces those of the given families. Returns 0, -E2BIG beyond CONTAINER_SERIES_MAX of the whole
 * list, -EINVAL if one is of another family, or -ENOMEM; the list is unchanged on failure.
 */
int series_list_replace(struct series_list *l, uint32_t families,
			const struct container_series *series, size_t n) MUST_CHECK;

/* The series of one family, those with equal labels added up. Empty when zeroed. */
struct series_sum;
struct series_sums {
	struct series_sum *table;
};

void series_sums_clear(struct series_sums *sums);

/* Adds the entries of this family. Their labels stay borrowed. Returns 0 or -ENOMEM. */
int series_sums_add(struct series_sums *sums, const struct series_list *l,
		    unsigned family) MUST_CHECK;

/* Calls fn for each, in the order in which they were first added, until it does not return 0. */
int series_sums_each(const struct series_sums *sums,
		     int (*fn)(void *ctx, const char *labels, uint64_t value),
		     void *ctx) MUST_CHECK;

#endif /* NODE_AGENT_RUNTIME_CONTAINER_SERIES_H */
