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
#include "node-agent/go/heap/heap_counts.h"
#include "node-agent/go/heap/heap_scale.h"
#include "node-agent/go/record/go_bucket.h"
#include "node-agent/profile/stack_profile.h"

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
