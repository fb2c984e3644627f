/*
 * The heap profile of one Go process, read from its memory. It is not stopped, and unless force
 * asks for it (go_force.h), nothing is written to it. Everything read is untrusted: lengths, counts and time are limited. One thread.
 */
#ifndef NODE_AGENT_HEAP_HEAP_READER_H
#define NODE_AGENT_HEAP_HEAP_READER_H

#include "common/base.h"
#include "common/buf.h"
#include "node-agent/heap/go_target.h"
#include "node-agent/heap/heap_history.h"

struct heap_reader;

#define HEAP_READER_MAX_BUCKETS 1000000u
#define HEAP_READER_MAX_BYTES ((uint64_t)1024 * 1024 * 1024) /* read of one process in a round */
#define HEAP_READER_MAX_NS ((uint64_t)2 * 1000 * 1000 * 1000)
#define HEAP_READER_PROFILE_BYTES ((size_t)128 * 1024 * 1024) /* while a profile is made */

struct heap_reader_config {
	const char *proc_root; /* NULL: "/proc" */
	bool raw;              /* counters as they are, not scaled by their sampling rate */
	bool force;            /* switch profilers on that the linker has switched off */
};

struct heap_reading {
	size_t n_samples; /* 0: no profile */
	bool off;         /* the program has switched its profiler off, or never had it on */
	bool forced;      /* it was off and has been switched on just now: begin anew in a second */
	bool is_ours;     /* the linker had switched it off, and we on */
	struct heap_round_result round;
	char service[WORKLOAD_NAME_BYTES]; /* when there is a profile */
};

/* -ENOMEM; -errno when proc_root cannot be opened. */
int heap_reader_new(struct heap_reader **ret, const struct heap_reader_config *cfg) MUST_CHECK;
void heap_reader_free(struct heap_reader *r);
DEFINE_CLEANUP(struct heap_reader *, heap_reader_free);

/* Descriptor of proc_root, borrowed. */
int heap_reader_root(const struct heap_reader *r);

/* 1: a Go executable; 0: it is not; -errno of go_target_open_file(). */
int heap_reader_detect(struct heap_reader *r, const struct go_process_id *id) MUST_CHECK;

/*
 * Appends the pprof of the process to out, and remembers in history what it told. 0; errors of
 * go_target_open(), go_executables_get(), heap_history_round() and heap_profile_add(); then out may
 * have been changed. The profile covers duration_ns up to now.
 */
int heap_reader_read(struct heap_reader *r, const struct go_process_id *id,
		     struct heap_history *history, int64_t duration_ns, struct buf *out,
		     struct heap_reading *ret) MUST_CHECK;

/* Switches the profiler of a process off again that we had switched on. Results of go_force(). */
int heap_reader_restore(struct heap_reader *r, const struct go_process_id *id) MUST_CHECK;

#endif /* NODE_AGENT_HEAP_HEAP_READER_H */
