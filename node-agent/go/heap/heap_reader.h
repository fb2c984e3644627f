/*
 * The heap profile of one Go process, read from its memory. The process is not stopped, and
 * nothing is written to it unless `force` asks for that. Everything read is untrusted: lengths,
 * counts and time are limited. For one thread.
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
	bool raw;   /* report counters as they are, not scaled by the sampling rate */
	bool force; /* switch the profiler on if the linker switched it off */
	struct stack_profile_parts *more; /* borrowed; as in struct stack_profile_config */
};

struct heap_reading {
	size_t n_samples; /* 0 if there is no profile */
	/* allocated since the previous round, scaled; valid if the reading succeeded */
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
	size_t n_backwards; /* records whose count fell; reported as no allocations */
	bool off;           /* the profiler is off: switched off by the program, or never on */
	bool forced;        /* this reading switched the profiler on; start over in a second */
	bool is_ours;       /* the profiler is on because we switched it on */
	bool write_refused; /* it would have been switched on, but the agent may not write */
	struct bucket_round_result round;
};

/* Whose heap, and what was reported of it before; all borrowed. */
struct heap_subject {
	const struct program_id *id;
	struct bucket_history *history;
	int64_t duration_ns; /* what the profile covers, up to now */
};

/* A history with the one counter and the limit that the reader needs. Returns 0 or -ENOMEM. */
int heap_history_new(struct bucket_history **ret, enum bucket_history_start start) MUST_CHECK;

/*
 * Appends the pprof of the process behind rt to out, and records in subject->history what was
 * reported. Returns 0, or an error of go_runtime_find(), heap_force(), bucket_history_round()
 * or heap_profile_add(); out may have been changed then.
 */
int heap_reader_read(struct go_runtime *rt, const struct heap_subject *subject,
		     const struct heap_reader_config *cfg, struct buf *out,
		     struct heap_reading *ret) MUST_CHECK;

/*
 * Switches the memory profiler on in a Go program whose linker switched it off, and off again.
 *
 * Since 1.17 the linker sets runtime.disableMemoryProfiling when the program does not refer
 * to the profiler, and the runtime then starts with MemProfileRate 0. A rate written later
 * takes effect with the next allocation of each P (malloc.go, 1.17 to 1.27). A program that
 * set its rate to 0 itself is left alone.
 */

#define HEAP_FORCE_RATE UINT64_C(524288) /* the runtime's default; only its third byte is not 0 */
#define HEAP_FORCE_MINOR_MIN 17u

enum heap_force_wish {
	HEAP_FORCE_ON,
	HEAP_FORCE_OFF, /* undo HEAP_FORCE_ON */
};

/*
 * Returns 1 if the rate was written, 0 if it had that value already, -ENOTSUP if the release
 * is unknown or the linker's flag cannot be found, -EALREADY if the program chose a rate of
 * its own, or an error of go_write_word() or go_runtime_find().
 */
int heap_force(struct go_runtime *rt, const struct program_id *id,
	       enum heap_force_wish wish) MUST_CHECK;

#endif /* NODE_AGENT_GO_HEAP_HEAP_READER_H */
