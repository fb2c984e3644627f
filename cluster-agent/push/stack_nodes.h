/*
 * Stacks of numbered frames as a tree of nodes, with a value each: to add up the many equal stacks
 * of a profile, and to follow calls and returns. Pure.
 */
#ifndef CLUSTER_AGENT_PUSH_STACK_NODES_H
#define CLUSTER_AGENT_PUSH_STACK_NODES_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/number_index.h"

#define STACK_NODES_MAX 2000000u

struct stack_node {
	uint32_t parent;
	uint32_t frame;
	double value; /* of the stack that ends here */
};

/* Node 0 is the root, which has no frame. */
struct stack_nodes {
	struct arena *arena; /* borrowed */
	struct stack_node *nodes;
	uint32_t n;
	uint32_t max;                 /* allocated */
	struct number_index by_frame; /* of parent and frame */
};

/* Returns 0, -EFBIG if the arena's limit or STACK_NODES_MAX is exceeded, or -ENOMEM. */
int stack_nodes_init(struct stack_nodes *s, struct arena *arena) MUST_CHECK;
/* The node of that frame below parent. */
int stack_nodes_child(struct stack_nodes *s, uint32_t parent, uint32_t frame,
		      uint32_t *ret) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_STACK_NODES_H */
