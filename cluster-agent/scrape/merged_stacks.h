/*
 * Samples with equal stacks made one. Pure.
 *
 * Stacks are equal when all their frames are: name, file and line, inlined ones included; of a
 * location without lines its address. They are compared by a 64-bit hash, seeded at random per process.
 */
#ifndef CLUSTER_AGENT_SCRAPE_MERGED_STACKS_H
#define CLUSTER_AGENT_SCRAPE_MERGED_STACKS_H

#include "common/base.h"
#include "common/err.h"
#include "common/pprof/profile.h"

struct merged_stack {
	uint64_t hash;
	uint32_t sample; /* the first with this stack */
};

/* In the profile's arena. */
struct merged_stacks {
	struct merged_stack *stacks; /* in the order of the samples */
	int64_t *values;             /* n × n_columns, none negative */
	uint32_t n;
	uint32_t n_columns;
};

/*
 * columns: indexes into the values of a sample, n_columns of them. 0; -EBADMSG: a value is negative or a
 * sum beyond 63 bits, with a sentence in err; -EFBIG: the arena's limit; -ENOMEM.
 */
int merged_stacks_make(struct merged_stacks *ret, const struct profile *p, const uint32_t *columns,
		       uint32_t n_columns, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SCRAPE_MERGED_STACKS_H */
