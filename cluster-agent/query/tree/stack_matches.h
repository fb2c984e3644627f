/*
 * The value of all stacks that contain a match of a search; each counts once. Pure.
 *
 * Not thread-safe.
 */
#ifndef CLUSTER_AGENT_QUERY_TREE_STACK_MATCHES_H
#define CLUSTER_AGENT_QUERY_TREE_STACK_MATCHES_H

#include "common/base.h"
#include "common/err.h"
#include "common/flame/flame_tree.h"

struct stack_matches;

/* search as of function_search.h, with its errors. err must outlive the matches. */
int stack_matches_new(struct stack_matches **ret, const char *search, struct err *err) MUST_CHECK;
void stack_matches_free(struct stack_matches *m);
DEFINE_CLEANUP(struct stack_matches *, stack_matches_free);

/*
 * Returns 0, -ENOMEM, or -EINVAL with a sentence in err: the search takes too many steps. Frames
 * whose texts do not fit 64 MiB match nothing.
 */
int stack_matches_add(struct stack_matches *m, const struct flame_frame *frames, size_t n_frames,
		      struct stack_value value) MUST_CHECK;

struct stack_match_totals {
	struct stack_value value;
	uint64_t n_stacks;
	uint32_t n_functions; /* that match */
};

struct stack_match_totals stack_matches_get(const struct stack_matches *m);

#endif /* CLUSTER_AGENT_QUERY_TREE_STACK_MATCHES_H */
