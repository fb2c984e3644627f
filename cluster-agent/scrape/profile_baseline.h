/*
 * Remembers the cumulative values of one endpoint's stacks at its last profile, so that the
 * next one can be reported as a difference. Pure.
 *
 * It has to be small, because each pod has three of them (heap, mutex, block) and each has as
 * many entries as the profile has stacks: with 5,000 pods of 1,000 stacks they are the agent's
 * largest memory. It is only ever read from beginning to end, so it is not a table but a sorted
 * sequence of varints in one allocation: 13 bytes per stack with two values, where an element of
 * common/data/table.h has 102.
 *
 * Stacks whose values are all 0 are left out.
 */
#ifndef CLUSTER_AGENT_SCRAPE_PROFILE_BASELINE_H
#define CLUSTER_AGENT_SCRAPE_PROFILE_BASELINE_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/pprof/merged_stacks.h"

/* Empty if zeroed. */
struct profile_baseline {
	/*
	 * n_entries, sorted by hash: difference to the previous hash, n_types values, as
	 * varints
	 */
	uint8_t *data;
	uint32_t n_bytes;
	uint32_t n_entries;
	uint32_t n_types;
	bool valid;
	uint64_t types_hash; /* hash of the names of the types that the values belong to */
};

void profile_baseline_fini(struct profile_baseline *b);
/* The size of the allocation. */
size_t profile_baseline_bytes(const struct profile_baseline *b);

enum baseline_outcome {
	BASELINE_NONE,      /* there was none, or with other types: the values are unchanged */
	BASELINE_CONTINUED, /* the values are differences */
	BASELINE_RESTARTED, /* the process restarted: values are unchanged, and all are new */
};

/* The columns of merged_stacks that grow from the start of the process. */
struct cumulative_columns {
	const uint32_t *columns;
	uint32_t n;
	uint64_t types_hash; /* hash of their names */
};

/*
 * Subtracts the values of b from the columns, stack by stack, unless the process has restarted.
 * It has if any stack has a smaller value than in b or is missing, because the values of a
 * process only grow.
 *
 * *ret_next, allocated in arena, holds the values before subtraction, for
 * profile_baseline_commit(). Returns 0, -EFBIG if the arena's limit is exceeded, or -ENOMEM.
 */
int profile_baseline_subtract(const struct profile_baseline *b, struct merged_stacks *m,
			      const struct cumulative_columns *c, struct arena *arena,
			      struct profile_baseline *ret_next,
			      enum baseline_outcome *ret) MUST_CHECK;

/* Makes b a copy of next. Returns 0, or -ENOMEM and b is unchanged. */
int profile_baseline_commit(struct profile_baseline *b,
			    const struct profile_baseline *next) MUST_CHECK;

#endif /* CLUSTER_AGENT_SCRAPE_PROFILE_BASELINE_H */
