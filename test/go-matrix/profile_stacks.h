/*
 * The stacks of a pprof file, function by function and line by line, and whether two files have the same ones
 * with the same values.
 */
#ifndef TEST_GO_MATRIX_PROFILE_STACKS_H
#define TEST_GO_MATRIX_PROFILE_STACKS_H

#include "common/base.h"

#define PROFILE_STACKS_VALUES_MAX 4u

struct profile_stack {
	char *text; /* a line per frame */
	int64_t values[PROFILE_STACKS_VALUES_MAX];
};

/* By text; stacks whose values are all 0 are left out. */
struct profile_stacks {
	size_t depth; /* frames that count, from the leaf; 0: all; set before loading, as is: */
	const char *without; /* stacks that have this text are left out; NULL: none */
	struct profile_stack *stacks;
	size_t n;
	size_t n_values;
};

/* s has no stacks. -EBADMSG: not this number of values; says on standard error what is wrong. */
int profile_stacks_load(struct profile_stacks *s, const char *file, size_t n_values) MUST_CHECK;
void profile_stacks_fini(struct profile_stacks *s);

/*
 * Number of stacks that differ; shows the first ones. tolerance: per value, by which part of it ours may be wrong; NULL:
 * none.
 */
size_t profile_stacks_compare(const struct profile_stacks *ours,
			      const struct profile_stacks *theirs, const double *tolerance);

#endif /* TEST_GO_MATRIX_PROFILE_STACKS_H */
