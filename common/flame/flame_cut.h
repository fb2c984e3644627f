/* Which nodes of a tree are shown: those within limits and in a zoom. For flame_view.c. Pure. */
#ifndef COMMON_FLAME_FLAME_CUT_H
#define COMMON_FLAME_FLAME_CUT_H

#include "common/base.h"
#include "common/flame/flame_nodes.h"

struct flame_cut {
	bool *kept;              /* by node; the root always is */
	bool *inside;            /* by node: in the subtree that is zoomed into */
	struct stack_value *cut; /* by node: what is shown as "other" below it */
	uint64_t n_other;        /* nodes and stacks inside that are part of "other" */
	bool zoomed;             /* false: there is no node with that key, or no zoom */
};

/* Returns 0 or -ENOMEM; fini in both cases. */
int flame_cut_init(struct flame_cut *ret, const struct flame_tree *t,
		   const struct flame_view_limits *limits) MUST_CHECK;
void flame_cut_fini(struct flame_cut *c);

#endif /* COMMON_FLAME_FLAME_CUT_H */
