/*
 * The stacks of a service in a time range, with their values and with how much
 * of the truth they are.
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

/* The frame that stands for a stack whose samples are stored and whose frames are not. */
#define STACK_QUERY_MISSING "[missing stack]"

struct stack_query_reason {
	char name[64]; /* cut when longer */
	uint64_t count;
};

struct stack_query_result {
	uint64_t n_stacks;     /* distinct ones found, cut ones included */
	uint64_t n_stacks_cut; /* beyond the largest STACK_QUERY_MAX_STACKS */
	int64_t value_cut;
	uint64_t n_samples;   /* observations */
	uint64_t n_truncated; /* those whose stack does not reach its root */
	uint64_t n_lost;      /* that the nodes lost, of all services of these nodes */
	struct stack_query_reason reasons[STACK_QUERY_MAX_REASONS];
	size_t n_reasons;
};

/*
 * Called per stack, largest first; frames leaf first, valid during the call.
 * A negative result ends the query with it.
 */
typedef int (*stack_query_fn)(void *ctx, const struct flame_frame *frames, size_t n_frames,
			      int64_t value);

/*
 * Values of types that are summed are sums over the profiles that overlap the
 * range; those of the others are the average over the time the profiles cover,
 * of the sum over instances.
 * 0; -EREMOTEIO and -EFBIG of the store; -EBADMSG: an answer nobody understands;
 * -ENOMEM; what fn returned. Always with a sentence but for -ENOMEM.
 */
int stack_query(struct store *store, const struct query_filter *f, stack_query_fn fn, void *ctx,
		struct stack_query_result *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_STACK_QUERY_H */
