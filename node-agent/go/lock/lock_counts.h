/*
 * The counters of a record of Go's mutex or block profiler (blockRecord in runtime/mprof.go). Pure.
 *
 * Waits are counted in ticks of the processor. The block profiler makes up for waits that it did not
 * sample when it records one (since 1.17); the mutex profiler does since 1.20, before that its
 * readers have to.
 */
#ifndef NODE_AGENT_GO_LOCK_LOCK_COUNTS_H
#define NODE_AGENT_GO_LOCK_LOCK_COUNTS_H

#include "common/base.h"
#include "node-agent/go/lock/lock_kind.h"
#include "node-agent/go/record/go_bucket.h"

#define LOCK_COUNTS_WORDS 2u /* go_bucket_format.n_words */

struct lock_counts {
	uint64_t waits;
	uint64_t ticks;
};

/* -EAGAIN: these are no counters, or were read half written. */
int lock_counts_decode(const struct go_bucket *b, unsigned minor,
		       struct lock_counts *ret) MUST_CHECK;

/* What a counter of this kind has to be multiplied by when the program's rate is this. */
uint64_t lock_counts_factor(enum lock_kind kind, unsigned minor, uint64_t rate);

#endif /* NODE_AGENT_GO_LOCK_LOCK_COUNTS_H */
