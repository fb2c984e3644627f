/*
 * The heap profile of one Go process, read from its memory. It is not stopped, and unless force
 * asks for it (heap_force.h), nothing is written to it. Everything read is untrusted: lengths, counts
 * and time are limited. One thread.
 */
#ifndef NODE_AGENT_GO_HEAP_HEAP_READER_H
#define NODE_AGENT_GO_HEAP_HEAP_READER_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/go/image/go_runtime.h"
#include "node-agent/go/record/bucket_history.h"

#define HEAP_READER_MAX_BUCKETS 1000000u
#define HEAP_READER_MAX_NS ((uint64_t)2 * 1000 * 1000 * 1000)
#define HEAP_READER_PROFILE_BYTES ((size_t)128 * 1024 * 1024) /* while a profile is made */

struct heap_reader_config {
	bool raw;   /* counters as they are, not scaled by their sampling rate */
	bool force; /* switch profilers on that the linker has switched off */
};

struct heap_reading {
	size_t n_samples;       /* 0: no profile */
	uint64_t alloc_objects; /* since the last round, scaled; of a reading that succeeded */
	uint64_t alloc_bytes;
	size_t n_backwards; /* records that counted less than the last time: taken as nothing new */
	bool off;           /* the program has switched its profiler off, or never had it on */
	bool forced;  /* it was off and has been switched on just now: begin anew in a second */
	bool is_ours; /* the linker had switched it off, and we on */
	struct bucket_round_result round;
};

/* Whose heap, and what was told of it; all borrowed. */
struct heap_subject {
	const struct program_id *id;
	struct bucket_history *history;
	int64_t duration_ns; /* what the profile covers, up to now */
};

/* A history as the reader wants it. -ENOMEM. */
int heap_history_new(struct bucket_history **ret, enum bucket_history_start start) MUST_CHECK;

/*
 * Appends the pprof of a process, whose runtime rt is, to out, and remembers in its history what it told.
 * 0; errors of go_runtime_find(), heap_force(), bucket_history_round() and heap_profile_add(); then out may
 * have been changed.
 */
int heap_reader_read(struct go_runtime *rt, const struct heap_subject *subject,
		     const struct heap_reader_config *cfg, struct buf *out,
		     struct heap_reading *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_HEAP_HEAP_READER_H */
