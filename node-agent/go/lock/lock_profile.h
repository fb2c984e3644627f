/*
 * Records of the mutex or block profiler → one pprof with the number of waits and their time.
 * Pure.
 *
 * Stacks and values are those that runtime/pprof would report for the same counters, except
 * that deep stacks are not cut off (see lock_profile.c).
 */
#ifndef NODE_AGENT_GO_LOCK_LOCK_PROFILE_H
#define NODE_AGENT_GO_LOCK_LOCK_PROFILE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/go/lock/lock_variables.h"
#include "node-agent/go/record/go_bucket.h"
#include "node-agent/profile/stack_profile.h"

/*
 * The counters of a record of Go's mutex or block profiler (blockRecord in runtime/mprof.go).
 * Pure.
 *
 * Times are in ticks (tick_clock.h). The block profiler scales up each wait that it records
 * to make up for those that it did not sample, since 1.17. The mutex profiler does the same
 * since 1.20; before, whoever reads its counters has to (lock_counts_factor()).
 */

#define LOCK_COUNTS_WORDS 2u /* go_bucket_format.n_words */

struct lock_counts {
	uint64_t waits;
	uint64_t ticks;
};

/* Returns 0, or -EAGAIN if these cannot be counters or were read half written. */
int lock_counts_decode(const struct go_bucket *b, unsigned minor,
		       struct lock_counts *ret) MUST_CHECK;

/* The number by which counters of this kind must be multiplied if the program's rate is `rate`. */
uint64_t lock_counts_factor(enum lock_kind kind, unsigned minor, uint64_t rate);

struct lock_profile;

struct lock_profile_config {
	struct frame_resolver resolver;
	enum lock_kind kind;
	unsigned minor;  /* of the release: 1.minor */
	uint64_t factor; /* lock_counts_factor() */
	double ns_per_tick;
	size_t max_bytes;                 /* of memory */
	struct buf *out;                  /* borrowed; the pprof is appended */
	struct stack_profile_parts *more; /* borrowed; as in struct stack_profile_config */
};

/* Returns 0 or -ENOMEM. */
int lock_profile_new(struct lock_profile **ret, const struct lock_profile_config *cfg) MUST_CHECK;
void lock_profile_free(struct lock_profile *p);
DEFINE_CLEANUP(struct lock_profile *, lock_profile_free);

/* `since` is what b counted since the previous round. Returns what stack_profile_add() does. */
int lock_profile_add(struct lock_profile *p, const struct go_bucket *b,
		     const struct lock_counts *since) MUST_CHECK;

/* If *ret_samples is 0 there was nothing to report, and nothing was appended. */
int lock_profile_finish(struct lock_profile *p, int64_t end_ns, int64_t duration_ns,
			size_t *ret_samples) MUST_CHECK;

#endif /* NODE_AGENT_GO_LOCK_LOCK_PROFILE_H */
