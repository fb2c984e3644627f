/*
 * The stacks of a service in a time range, with their values and with what is missing of them.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_STACK_QUERY_H
#define CLUSTER_AGENT_QUERY_STACK_QUERY_H

#include "cluster-agent/query/flame_tree.h"
#include "cluster-agent/query/query_filter.h"
#include "common/base.h"
#include "common/err.h"

struct store;

#define STACK_QUERY_MAX_STACKS 20000u
#define STACK_QUERY_MAX_REASONS 64u

/* Stands for the frames of a stack whose samples are stored and whose frames are not. */
#define STACK_QUERY_MISSING "[missing stack]"

struct stack_query_reason {
	char name[64]; /* truncated if longer */
	uint64_t count;
};

struct stack_query_result {
	uint64_t n_stacks;     /* distinct stacks, including those that were cut */
	uint64_t n_stacks_cut; /* stacks beyond the largest STACK_QUERY_MAX_STACKS */
	int64_t value_cut;     /* their value */
	uint64_t n_samples;    /* observations */
	uint64_t n_truncated;  /* observations whose stack does not reach its root */
	uint64_t n_lost;       /* samples that the nodes lost, of all their services */
	struct stack_query_reason reasons[STACK_QUERY_MAX_REASONS];
	size_t n_reasons;
};

/*
 * Called per stack, largest first. frames are leaf first and valid during the call. A negative
 * result ends the query, which then returns it.
 */
typedef int (*stack_query_fn)(void *ctx, const struct flame_frame *frames, size_t n_frames,
			      int64_t value);

/*
 * Values of summed types are sums over the profiles that overlap the range. Those of the others
 * are the sum over instances, averaged over the time that profiles cover. Returns 0, an error
 * of store_query(), -EBADMSG if the answer is malformed, -ENOMEM, or what fn returned; with a
 * sentence in err, except for -ENOMEM and what fn returned.
 */
int stack_query(struct store *store, const struct query_filter *f, stack_query_fn fn, void *ctx,
		struct stack_query_result *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_STACK_QUERY_H */
