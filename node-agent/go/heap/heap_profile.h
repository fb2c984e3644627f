/*
 * Records of the memory profiler → one pprof with the four types of a Go heap profile. Pure.
 *
 * The values are those that runtime/pprof would report for the same counters: each record's
 * count is divided by the probability that an object of its size is sampled (scaleHeapSample
 * in runtime/pprof/protomem.go), and leading frames of the runtime are hidden. In-use values
 * are as of the last complete garbage collection; allocations are those since the previous
 * round, up to now.
 */
#ifndef NODE_AGENT_GO_HEAP_HEAP_PROFILE_H
#define NODE_AGENT_GO_HEAP_HEAP_PROFILE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/go/record/go_bucket.h"
#include "node-agent/profile/stack_profile.h"

/*
 * Estimates the true number and size of allocations from a sampled count. The same formula and
 * rounding as scaleHeapSample in runtime/pprof/protomem.go. Pure.
 */

struct heap_amount {
	int64_t objects;
	int64_t bytes;
};

/*
 * `count` sampled objects of `size` bytes each. `rate` is the mean number of bytes between two
 * samples; 0 and 1 mean that every object is sampled.
 */
struct heap_amount heap_scale(uint64_t count, uint64_t size, uint64_t rate);

/* A count as of two moments; it only grows. */
struct heap_growth {
	uint64_t before;
	uint64_t now;
};

/*
 * What a count has grown by, scaled: the difference of both counts as scaled by heap_scale(). The
 * growths of consecutive intervals add up to the growth of the whole time, without a remainder.
 */
struct heap_amount heap_scale_growth(struct heap_growth count, uint64_t size, uint64_t rate);

/*
 * The counters of a record of Go's memory profiler (memRecord in runtime/mprof.go). Pure.
 *
 * Go 1.27 removed the byte counters. Nothing is lost: they are the counts times the record's
 * size.
 */

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

struct heap_profile;

struct heap_profile_config {
	struct frame_resolver resolver;
	uint64_t rate;                    /* runtime.MemProfileRate: bytes per sample */
	bool raw;                         /* do not scale */
	size_t max_bytes;                 /* of memory */
	struct buf *out;                  /* borrowed; the pprof is appended */
	struct stack_profile_parts *more; /* borrowed; as in struct stack_profile_config */
};

/* Returns 0 or -ENOMEM. */
int heap_profile_new(struct heap_profile **ret, const struct heap_profile_config *cfg) MUST_CHECK;
void heap_profile_free(struct heap_profile *p);
DEFINE_CLEANUP(struct heap_profile *, heap_profile_free);

/*
 * allocs is the number of allocations as of the previous round and of this one. Returns what
 * stack_profile_add() does.
 */
int heap_profile_add(struct heap_profile *p, const struct go_bucket *b, const struct heap_counts *c,
		     struct heap_growth allocs) MUST_CHECK;

/*
 * Appends the pprof, which covers duration_ns up to end_ns (since the Unix epoch). If
 * *ret_samples is 0 there was nothing to report, and nothing was appended.
 */
int heap_profile_finish(struct heap_profile *p, int64_t end_ns, int64_t duration_ns,
			size_t *ret_samples) MUST_CHECK;

#endif /* NODE_AGENT_GO_HEAP_HEAP_PROFILE_H */
