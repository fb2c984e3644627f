/* The inside of struct flame_tree, for flame_tree.c, which builds it, and flame_view.c, only. */
#ifndef CLUSTER_AGENT_QUERY_FLAME_NODES_H
#define CLUSTER_AGENT_QUERY_FLAME_NODES_H

#include "cluster-agent/query/flame_tree.h"
#include "cluster-agent/query/pair_table.h"
#include "common/base.h"
#include "common/data/intern.h"

/* a function id that every tree has */
#define FLAME_FUNCTION_OTHER 0u

/* A parent always has a smaller index than its children. Node 0 is the root. */
struct flame_node {
	uint32_t parent;
	uint32_t function;
	int64_t total; /* of the stacks through this node, cut ones included */
	int64_t self;
	int64_t cut;    /* part of total whose deeper frames did not fit */
	uint64_t n_cut; /* number of stacks in cut */
};

struct flame_tree_function {
	uint32_t name; /* in names */
	uint32_t file; /* in files */
	int64_t self;
	int64_t total;
	uint64_t last_stack; /* number of the last stack that was added to total */
};

struct flame_tree {
	struct flame_tree_limits limits;
	uint64_t n_stacks;

	struct intern *texts;     /* whole frames */
	uint32_t *text_functions; /* by id in texts */
	uint32_t n_text_functions;
	uint32_t max_text_functions;

	struct intern *names;
	struct intern *files;
	struct pair_table function_ids; /* (name, file) → functions */
	struct flame_tree_function *functions;
	uint32_t n_functions;
	uint32_t max_functions;

	struct pair_table children; /* (node, function) → nodes */
	struct flame_node *nodes;
	uint32_t n_nodes;
	uint32_t max_nodes;
};

/* Adds a value that is not negative; saturates at INT64_MAX. */
static inline void flame_sum(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

#endif /* CLUSTER_AGENT_QUERY_FLAME_NODES_H */
