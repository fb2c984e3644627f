/*
 * How complete the profiles of a selection are, from profiling_quality.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_QUALITY_QUERY_H
#define CLUSTER_AGENT_QUERY_READ_QUALITY_QUERY_H

#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/err.h"

struct store;

#define QUALITY_MAX_COUNTS 96u

struct quality_count {
	char name[64]; /* truncated if longer */
	uint64_t count;
};

struct quality_counts {
	struct quality_count items[QUALITY_MAX_COUNTS];
	size_t n;
	uint64_t total; /* of all, also of those beyond the last item */
};

struct quality {
	/*
	 * These are the numbers of all instances and labels, although the selection has only some:
	 * profiles in the range were stored by a release that did not say which are whose.
	 */
	bool of_all;
	uint64_t n_samples;   /* observations */
	uint64_t n_truncated; /* observations whose stack does not reach its root */
	/* samples that the nodes lost, of all their services, by reason */
	struct quality_counts lost;
	/*
	 * Programs of the selection by runtime and state, "java:profiled", whatever the type is: as
	 * of the newest profile of each instance that was there at the end.
	 */
	struct quality_counts runtimes;
	/*
	 * Samples by how the walk over the stack ended, and in which binary, "no_table:libc.so.6";
	 * "seen:libc.so.6" has those with a frame of it. The largest counts; without a total.
	 */
	struct quality_counts unwinding;
};

/* Errors are those of bound_query_run(), and -EBADMSG if the answer is malformed. */
int quality_query(struct store *store, const struct query_filter *f, struct quality *ret,
		  struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_QUALITY_QUERY_H */
