/*
 * The counters of a record of Go's mutex or block profiler (blockRecord in runtime/mprof.go).
 * Pure.
 *
 * Times are in ticks (tick_clock.h). The block profiler scales up each wait that it records
 * to make up for those that it did not sample, since 1.17. The mutex profiler does the same
 * since 1.20; before, whoever reads its counters has to (lock_counts_factor()).
 */
#ifndef NODE_AGENT_GO_LOCK_LOCK_COUNTS_H
#define NODE_AGENT_GO_LOCK_LOCK_COUNTS_H

#include "common/base.h"
#include "node-agent/go/lock/lock_variables.h"
#include "node-agent/go/record/go_bucket.h"

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

#endif /* NODE_AGENT_GO_LOCK_LOCK_COUNTS_H */
