/*
 * The counters of a record of Go's memory profiler (memRecord in runtime/mprof.go). Pure.
 *
 * Go 1.27 removed the byte counters. Nothing is lost: they are the counts times the record's
 * size.
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
	struct heap_pair active; /* as of a past garbage collection, the same for all records */
	struct heap_pair future; /* allocated and freed since then */
};

/* The go_bucket_format.n_words of release 1.minor. */
uint32_t heap_counts_words(unsigned minor);

/*
 * n_words is heap_counts_words() of the process's release. Returns 0, or -EAGAIN if the
 * counters contradict each other because the runtime was updating them while they were read.
 */
int heap_counts_decode(const struct go_bucket *b, uint32_t n_words,
		       struct heap_counts *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_HEAP_HEAP_COUNTS_H */
