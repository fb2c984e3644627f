/*
 * The counters of a record of Go's memory profiler (memRecord in runtime/mprof.go). Pure.
 *
 * Since 1.27 counters of bytes are gone, which are products of counts and size anyway.
 */
#ifndef NODE_AGENT_GO_HEAP_HEAP_COUNTS_H
#define NODE_AGENT_GO_HEAP_HEAP_COUNTS_H

#include "common/base.h"
#include "node-agent/go/record/go_bucket.h"

struct heap_pair {
	uint64_t allocs;
	uint64_t frees;
};

struct heap_counts {
	struct heap_pair active; /* as of a past garbage collection: one moment for all records */
	struct heap_pair future; /* since then */
};

/* go_bucket_format.n_words of a release. */
uint32_t heap_counts_words(unsigned minor);

/* Of a record with as many words. -EAGAIN: the counters are of two moments. */
int heap_counts_decode(const struct go_bucket *b, uint32_t n_words,
		       struct heap_counts *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_HEAP_HEAP_COUNTS_H */
