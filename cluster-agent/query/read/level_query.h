/*
 * Applications whose memory in use, goroutines or threads have become more: what leaks.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_LEVEL_QUERY_H
#define CLUSTER_AGENT_QUERY_READ_LEVEL_QUERY_H

#include "cluster-agent/query/read/bound_query.h"
#include "common/base.h"

/* Texts are borrowed from the answer, not NUL-terminated. */
struct level_growth {
	const char *service;
	size_t service_len;
	const char *type; /* the one of its unit that grew most */
	size_t type_len;
	double value; /* of all instances, mean over the range, in the unit of the type */
	double base;
	bool before; /* base is that of the time right before the range */
};

struct level_list {
	struct bound_query query; /* owns the texts */
	struct level_growth *items;
	size_t n_items;
	int64_t base_from_ns; /* the same range a day before; if it is longer, the one before */
	int64_t base_to_ns;
};

/*
 * At most `limit` of bytes and then of counts, the largest growth first. The base of an application
 * is the range a day before; without profiles of then, the time of equal length right before. One
 * that has neither is not listed. f has times and a ticket. Errors are those of stack_query().
 * After 0 ret is released with level_list_fini().
 */
int level_query(struct store *store, const struct query_filter *f, uint32_t limit,
		struct level_list *ret, struct err *err) MUST_CHECK;
void level_list_fini(struct level_list *l);

#endif /* CLUSTER_AGENT_QUERY_READ_LEVEL_QUERY_H */
