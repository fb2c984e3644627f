/*
 * Records of the profiler → one pprof with the four types of a Go heap profile. Pure.
 *
 * Values are those that runtime/pprof would give for the same counters: each record's count is
 * scaled up by the probability with which its size is sampled (scaleHeapSample in
 * runtime/pprof/protomem.go), and leading frames of the runtime are hidden. In-use is of one
 * moment, the last garbage collection that is complete; allocations are those since the last
 * round, up to now. Equal stacks are one sample.
 */
#ifndef NODE_AGENT_HEAP_HEAP_PROFILE_H
#define NODE_AGENT_HEAP_HEAP_PROFILE_H

#include "common/base.h"
#include "common/buf.h"
#include "node-agent/heap/heap_bucket.h"

struct heap_profile;

/* Texts are borrowed until the profile is freed; equal ones need not be the same pointer. */
struct heap_frame {
	const char *function;
	const char *file;
	uint32_t line;
};

#define HEAP_FRAMES_MAX 64u /* of one address: inlined calls */

struct heap_frames {
	struct heap_frame frames[HEAP_FRAMES_MAX]; /* innermost first */
	size_t n;
};

/*
 * What is at a return address. One address of a heap stack is one frame, inlined or not, but that
 * the last may stand for the functions that it is inlined into as well.
 */
struct heap_symbols {
	/* Frames of the call; all: with those around. 0, also when unknown (then "[unknown]"). */
	int (*resolve)(void *ctx, uint64_t return_address, bool all, struct heap_frames *ret);
	/* Whether what is at the address itself belongs to the runtime. */
	bool (*is_runtime)(void *ctx, uint64_t address);
	void *ctx;
};

struct heap_profile_config {
	struct heap_symbols symbols;
	size_t max_bytes; /* of memory for the profile */
};

struct heap_profile_times {
	int64_t end_ns; /* since the Unix epoch */
	int64_t duration_ns;
	uint64_t rate; /* runtime.MemProfileRate: bytes per sample */
	bool raw;      /* do not scale */
};

int heap_profile_new(struct heap_profile **ret, const struct heap_profile_config *cfg) MUST_CHECK;
void heap_profile_free(struct heap_profile *p);
DEFINE_CLEANUP(struct heap_profile *, heap_profile_free);

/* allocs: since the last round. 0; -ENOMEM; -ENOBUFS over a limit; what resolve returned. */
int heap_profile_add(struct heap_profile *p, const struct heap_bucket *b,
		     uint64_t allocs) MUST_CHECK;

/* Appends the pprof. *ret_samples 0: there is nothing to tell, and nothing was appended. */
int heap_profile_finish(struct heap_profile *p, const struct heap_profile_times *times,
			struct buf *out, size_t *ret_samples) MUST_CHECK;

#endif /* NODE_AGENT_HEAP_HEAP_PROFILE_H */
