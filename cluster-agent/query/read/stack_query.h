/*
 * The stacks of a service in a time range, with their values and with what is missing of them.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_STACK_QUERY_H
#define CLUSTER_AGENT_QUERY_READ_STACK_QUERY_H

#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/err.h"
#include "common/flame/flame_tree.h"

struct store;

#define STACK_QUERY_MAX_STACKS 200000u
#define STACK_QUERY_MAX_COUNTS 96u

/* Stands for the frames of a stack whose samples are stored and whose frames are not. */
#define STACK_QUERY_MISSING "[missing stack]"

struct stack_query_count {
	char name[64]; /* truncated if longer */
	uint64_t count;
};

struct stack_query_counts {
	struct stack_query_count items[STACK_QUERY_MAX_COUNTS];
	size_t n;
	uint64_t total; /* of all, also of those beyond the last item */
};

/* How complete the data of one side is. */
struct stack_query_quality {
	uint64_t n_samples;   /* observations */
	uint64_t n_truncated; /* observations whose stack does not reach its root */
	/* samples that the nodes lost, of all their services, by reason */
	struct stack_query_counts lost;
	/*
	 * Programs of the service by runtime and state, "java:profiled", whatever the type is: as
	 * of the newest profile of each instance that was there at the end.
	 */
	struct stack_query_counts runtimes;
	/*
	 * Samples by how the walk over the stack ended, and in which binary, "no_table:libc.so.6";
	 * "seen:libc.so.6" has those with a frame of it. The largest counts; without a total.
	 */
	struct stack_query_counts unwinding;
};

struct stack_query_result {
	uint64_t n_stacks;        /* distinct stacks of both sides, those that were cut included */
	uint64_t n_base_stacks;   /* those of them that the base has */
	uint64_t n_stacks_cut;    /* beyond the STACK_QUERY_MAX_STACKS largest, or memory */
	struct stack_value total; /* of all stacks, whatever is cut */
	struct stack_value cut;   /* part of total: the value of the n_stacks_cut */
	struct stack_query_quality quality;
	struct stack_query_quality base_quality; /* zero without a base */
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
 * Values of summed types are sums over the profiles that overlap the range. Those of the others
 * are the sum over instances, averaged over the time that profiles cover. Returns 0, an error
 * of store_query(), -EBADMSG if the answer is malformed, -ENOMEM, or what fn returned; with a
 * sentence in err, except for -ENOMEM and what fn returned.
 */
int stack_query(struct store *store, struct query_sides sides, stack_query_fn fn, void *ctx,
		struct stack_query_result *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_STACK_QUERY_H */
