/* Values of labels, for other queries. Blocks on the store: call it from a worker. */
#ifndef CLUSTER_AGENT_QUERY_LABEL_QUERY_H
#define CLUSTER_AGENT_QUERY_LABEL_QUERY_H

#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/err.h"

struct store;

/*
 * The value of a label that has the largest share of a selection; one that does not fit ret is
 * passed over. Returns 1, 0 if there is none, or an error of profile_query_labels().
 */
int label_query_largest(struct store *store, const struct query_filter *f, const char *label,
			char *ret, size_t size, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_LABEL_QUERY_H */
