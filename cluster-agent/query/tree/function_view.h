/*
 * One function: its values, its source lines, who calls it and what it calls. Exact, whatever a
 * flame graph of the same stacks would cut. Pure.
 *
 * A stack in which the function is several times counts once, by the outermost call: callers are
 * what is above that, and what the function calls, itself included, is below. A line counts once
 * per stack as well, so with recursion lines may add up to more than the function.
 *
 * Not thread-safe.
 */
#ifndef CLUSTER_AGENT_QUERY_TREE_FUNCTION_VIEW_H
#define CLUSTER_AGENT_QUERY_TREE_FUNCTION_VIEW_H

#include "common/base.h"
#include "common/flame/flame_tree.h"

struct function_view;

/* At most so many; the others are added to the line 0, which also is what has no line. */
#define FUNCTION_VIEW_MAX_LINES 10000u

struct function_line {
	int64_t line; /* 0: unknown */
	bool inlined; /* into the caller, there */
	struct stack_value self;
	struct stack_value total;
};

/* Returns 0 or -ENOMEM. Texts are copied. */
int function_view_new(struct function_view **ret, const char *name, const char *file) MUST_CHECK;
void function_view_free(struct function_view *v);
DEFINE_CLEANUP(struct function_view *, function_view_free);

/* As flame_tree_add(). */
int function_view_add(struct function_view *v, const struct flame_frame *frames, size_t n_frames,
		      struct stack_value value) MUST_CHECK;

struct stack_value function_view_self(const struct function_view *v);
struct stack_value function_view_total(const struct function_view *v);

/* Largest own value first, then total, then line; sorted by the call. */
const struct function_line *function_view_lines(struct function_view *v, size_t *ret_n);

/* Trees whose root is the function; owned by v. The children of the root are its callers. */
struct flame_tree *function_view_callers(struct function_view *v);
struct flame_tree *function_view_callees(struct function_view *v);

#endif /* CLUSTER_AGENT_QUERY_TREE_FUNCTION_VIEW_H */
