/*
 * Merges samples with equal stacks. Pure.
 *
 * Stacks are equal if all of their frames are: name, file and line, including inlined ones; for
 * a location without lines its address. They are compared by a 64-bit hash with a seed that is
 * random per process, and found by common/data/number_index.h.
 */
#ifndef COMMON_PPROF_MERGED_STACKS_H
#define COMMON_PPROF_MERGED_STACKS_H

#include "common/base.h"
#include "common/pprof/profile.h"

struct merged_stack {
	uint64_t hash;   /* first, for number_index_find() */
	uint32_t sample; /* the first sample with this stack */
};

/* Allocated in the profile's arena. */
struct merged_stacks {
	struct merged_stack *stacks; /* in the order of the samples */
	int64_t *values;             /* n × n_columns, none negative */
	uint32_t n;
	uint32_t n_columns;
	struct profile_losses losses; /* negative values, which count as 0, and clamped sums */
};

/*
 * columns are n_columns indexes into the values of a sample. A sum beyond 63 bits is the
 * largest value. Returns 0, -EFBIG if the arena's limit is exceeded, or -ENOMEM.
 */
int merged_stacks_make(struct merged_stacks *ret, const struct profile *p, const uint32_t *columns,
		       uint32_t n_columns) MUST_CHECK;

#endif /* COMMON_PPROF_MERGED_STACKS_H */
