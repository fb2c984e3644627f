/*
 * Questions about stored profiles, and their answers as JSON for the page or pprof for other tools.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_PROFILE_QUERY_H
#define CLUSTER_AGENT_QUERY_PROFILE_QUERY_H

#include "cluster-agent/query/query_filter.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

struct store;

struct query_request {
	struct query_filter filter;
	uint32_t n_points;  /* of a timeline, at most; not 0 */
	uint32_t max_nodes; /* of a flame graph; the rest becomes "other" */
};

/*
 * Each appends to out. Returns 0, -EREMOTEIO or -EBADMSG if the store's answer is an error, another
 * error of store_query(), -EFBIG if the answer is too large, or -ENOMEM.
 */
int profile_query_types(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err) MUST_CHECK;
int profile_query_applications(struct store *store, const struct query_request *p, struct buf *out,
			       struct err *err) MUST_CHECK;
int profile_query_timeline(struct store *store, const struct query_request *p, struct buf *out,
			   struct err *err) MUST_CHECK;
int profile_query_flamegraph(struct store *store, const struct query_request *p, struct buf *out,
			     struct err *err) MUST_CHECK;
int profile_query_pprof(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err) MUST_CHECK;
/* Returns -EIO if the store does not answer. */
int profile_query_ready(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_PROFILE_QUERY_H */
