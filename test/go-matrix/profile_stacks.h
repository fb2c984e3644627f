/*
 * The stacks of a pprof file as text, function by function and line by line, to compare two files
 * by their stacks and values.
 */
#ifndef TEST_GO_MATRIX_PROFILE_STACKS_H
#define TEST_GO_MATRIX_PROFILE_STACKS_H

#include "common/base.h"

#define PROFILE_STACKS_VALUES_MAX 4u

struct profile_stack {
	char *text; /* a line per frame */
	int64_t values[PROFILE_STACKS_VALUES_MAX];
};

/* Sorted by text, without stacks whose values are all 0. */
struct profile_stacks {
	/* Set before loading: */
	size_t depth;        /* how many frames to compare, from the leaf; 0 for all */
	const char *without; /* stacks that contain this text are left out; NULL for none */

	struct profile_stack *stacks;
	size_t n;
	size_t n_values;
};

/*
 * s must have no stacks. Returns 0 or -errno, -EBADMSG if the number of values is different; prints
 * errors on standard error.
 */
int profile_stacks_load(struct profile_stacks *s, const char *file, size_t n_values) MUST_CHECK;
void profile_stacks_fini(struct profile_stacks *s);

/*
 * Returns the number of stacks that differ and prints the first of them. tolerance has, per
 * value, by which fraction of theirs ours may differ; NULL if they must be equal.
 */
size_t profile_stacks_compare(const struct profile_stacks *ours,
			      const struct profile_stacks *theirs, const double *tolerance);

#endif /* TEST_GO_MATRIX_PROFILE_STACKS_H */
