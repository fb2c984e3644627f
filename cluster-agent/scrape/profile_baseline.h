/*
 * What the cumulative values of one endpoint's stacks were at its last profile, so that the next
 * one can be told as what was added. Pure.
 *
 * Kept small, because there are three of them for each pod: numbers of variable length, about 15 bytes for
 * a stack with two values, in one allocation. It is only ever read from its beginning to its end.
 * Stacks whose values are all 0 are left out.
 */
#ifndef CLUSTER_AGENT_SCRAPE_PROFILE_BASELINE_H
#define CLUSTER_AGENT_SCRAPE_PROFILE_BASELINE_H

#include "cluster-agent/scrape/merged_stacks.h"
#include "common/base.h"
#include "common/data/arena.h"

/* A zeroed one is empty. */
struct profile_baseline {
	/* n_entries × (hash less the one before, n_types values), as varints of pprof, by hash */
	uint8_t *data;
	uint32_t n_bytes;
	uint32_t n_entries;
	uint32_t n_types;
	bool valid;
	uint64_t types_hash; /* of the names of the types they belong to */
};

void profile_baseline_fini(struct profile_baseline *b);
/* What is allocated. */
size_t profile_baseline_bytes(const struct profile_baseline *b);

enum baseline_outcome {
	BASELINE_NONE,      /* there was none, or of other types: the values are as they were */
	BASELINE_CONTINUED, /* the values are what was added */
	BASELINE_RESTARTED, /* the process began anew: they are what was added, whole */
};

/* Which columns of merged_stacks grow from the start of the process. */
struct cumulative_columns {
	const uint32_t *columns;
	uint32_t n;
	uint64_t types_hash; /* of their names */
};

/*
 * The columns become what was added since b, per stack, which is everything when the process began
 * anew. That shows by any stack whose value fell or that is gone: the values of a process only grow.
 *
 * *ret_next, in arena, holds the values themselves, for profile_baseline_commit(). 0 and *ret; -EFBIG: the
 * arena's limit; -ENOMEM.
 */
int profile_baseline_subtract(const struct profile_baseline *b, struct merged_stacks *m,
			      const struct cumulative_columns *c, struct arena *arena,
			      struct profile_baseline *ret_next,
			      enum baseline_outcome *ret) MUST_CHECK;

/* b becomes a copy of next. -ENOMEM, and b is as before. */
int profile_baseline_commit(struct profile_baseline *b,
			    const struct profile_baseline *next) MUST_CHECK;

#endif /* CLUSTER_AGENT_SCRAPE_PROFILE_BASELINE_H */
