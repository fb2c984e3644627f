/*
 * The inside of struct flame_tree, for what builds and views it only, and sums for what adds up
 * stacks in other ways.
 */
#ifndef COMMON_FLAME_FLAME_NODES_H
#define COMMON_FLAME_FLAME_NODES_H

#include "common/base.h"
#include "common/data/number_index.h"
#include "common/flame/flame_tree.h"
#include "common/flame/frame_functions.h"

/* A parent always has a smaller index than its children. Node 0 is the root. */
struct flame_node {
	uint32_t parent;
	uint32_t child; /* the latest one of them; 0: none yet */
	uint32_t function : 31;
	uint32_t inlined : 1;     /* into the parent, in all stacks */
	struct stack_value total; /* of the stacks through this node, cut ones included */
	struct stack_value self;
	struct stack_value cut; /* part of total whose deeper frames did not fit */
	uint64_t n_cut;         /* number of stacks in cut */
};

struct flame_tree_totals {
	struct stack_value self;
	struct stack_value total;
	uint64_t last_stack; /* number of the last stack that was added to total */
};

struct flame_tree {
	struct flame_tree_limits limits;
	uint64_t n_stacks;

	struct frame_functions functions;
	struct flame_tree_totals *totals; /* by function */
	uint32_t n_totals;
	uint32_t max_totals;

	struct number_index children; /* of nodes, by parent and function */
	struct flame_node *nodes;     /* the function of the root is OTHER unless it has a name */
	uint32_t n_nodes;
	uint32_t max_nodes;
};

/* Makes negative values 0. Returns false if nothing is left. */
static inline bool flame_keep_positive(struct stack_value *v)
{
	v->value = v->value > 0 ? v->value : 0;
	v->base = v->base > 0 ? v->base : 0;
	return v->value > 0 || v->base > 0;
}

/* Adds values that are not negative; saturates at INT64_MAX. */
static inline void flame_sum(struct stack_value *sum, struct stack_value value)
{
	if (__builtin_add_overflow(sum->value, value.value, &sum->value))
		sum->value = INT64_MAX;
	if (__builtin_add_overflow(sum->base, value.base, &sum->base))
		sum->base = INT64_MAX;
}

#endif /* COMMON_FLAME_FLAME_NODES_H */
