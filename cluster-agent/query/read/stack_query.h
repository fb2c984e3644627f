/*
 * The stacks of a service in a time range, with their values and with what is missing of them.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_STACK_QUERY_H
#define CLUSTER_AGENT_QUERY_READ_STACK_QUERY_H

#include "cluster-agent/query/read/missing_names.h"
#include "cluster-agent/query/read/quality_query.h"
#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/err.h"
#include "common/flame/flame_tree.h"

struct store;

#define STACK_QUERY_MAX_STACKS 200000u

/* Stands for the frames of a stack whose samples are stored and whose frames are not. */
#define STACK_QUERY_MISSING "[missing stack]"

struct stack_range {
	int64_t from_ns;
	int64_t to_ns;
};

struct stack_query_result {
	struct stack_range ranges[2]; /* that were read, of the selection and of the base */
	uint64_t n_stacks;        /* distinct stacks of both sides, those that were cut included */
	uint64_t n_base_stacks;   /* those of them that the base has */
	uint64_t n_stacks_cut;    /* beyond the STACK_QUERY_MAX_STACKS largest, or memory */
	struct stack_value total; /* of all stacks, whatever is cut */
	struct stack_value cut;   /* part of total: the value of the n_stacks_cut */
	struct quality quality;
	struct quality base_quality; /* zero without a base */
	struct missing_names missing;
};

/*
 * Called per stack, largest first. frames are leaf first and valid during the call. A negative
 * result ends the query, which then returns it.
 */
typedef int (*stack_query_fn)(void *ctx, const struct flame_frame *frames, size_t n_frames,
			      struct stack_value value);

/*
 * The sides may overlap in any way. A stack counts as one of the largest by the larger of its two
 * shares of its side's total.
 *
 * Values of summed types are sums over the profiles that overlap the range; with a base, each range
 * is moved to ends of profiles before (profile_edges.h), and of a profile the part counts that is
 * within. Those of the others are the sum over instances, averaged over the time that profiles
 * cover. Returns 0, an error of store_query(), -EBADMSG if the answer is malformed, -ENOMEM, or
 * what fn returned; with a sentence in err, except for -ENOMEM and what fn returned.
 */
int stack_query(struct store *store, struct query_sides sides, stack_query_fn fn, void *ctx,
		struct stack_query_result *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_STACK_QUERY_H */
