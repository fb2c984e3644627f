/*
 * What the thread of a worker does: finds all programs that have the runtime, and runs their
 * turns, each once per interval.
 *
 * A reading may never return: memory of a process may be that of a file whose file system does
 * not answer. The owner then abandons the thread with its profiler, and a successor leaves
 * that process out. The successor begins with nothing: of the other processes it reports what
 * they count from its first reading on, so that nothing is reported twice.
 */
#ifndef NODE_AGENT_RUNTIME_RUNTIME_PROFILER_H
#define NODE_AGENT_RUNTIME_RUNTIME_PROFILER_H

#include "common/base.h"
#include "common/err.h"
#include "node-agent/process/process_table.h"
#include "node-agent/runtime/turn_runner.h"

struct runtime_profiler;

struct runtime_profiler_config {
	const struct runtime_ops *ops;
	const char *proc_root;
	uint64_t interval_ns;
	size_t history_max_bytes; /* of all sessions together */
	struct runtime_filter filter;
	struct runtime_shared *shared; /* it takes a reference */
	runtime_take_fn *take;         /* on its thread, unless that is abandoned */
	void *take_ctx;
	struct name_rules *name_rules; /* borrowed; NULL: none */
	struct runtime_states *states; /* NULL: states are not collected */
};

struct name_rules;
struct runtime_states;

/* What its predecessors, all abandoned, leave to it. */
struct runtime_past {
	bool any;            /* there were some */
	uint64_t seen_ticks; /* runtime_processes_config.seen_ticks */
	struct left_out left_out;
};

/* What it is doing. */
struct runtime_position {
	bool is_busy; /* not waiting for the next turn */
	/* pid 0: no process in particular; start_time 0: not known yet */
	struct program_id id;
	uint64_t since_ns;   /* on clock_monotonic_ns() */
	uint64_t seen_ticks; /* for its successor */
};

/* past is copied. Returns 0, -ENOMEM, or -errno with err set if there is no /proc. */
int runtime_profiler_new(struct runtime_profiler **ret, const struct runtime_profiler_config *cfg,
			 const struct runtime_past *past, struct err *err) MUST_CHECK;
void runtime_profiler_free(struct runtime_profiler *p);
DEFINE_CLEANUP(struct runtime_profiler *, runtime_profiler_free);

/* On any thread. The next scan reads that process. */
void runtime_profiler_change(struct runtime_profiler *p, pid_t pid, enum process_change change);

/*
 * Works until t must end, then undoes what this or an earlier agent changed in processes. One
 * that was abandoned does that only for the process in which it hung, because its successor
 * leaves that one out.
 */
void runtime_profiler_run(struct runtime_profiler *p, struct worker_thread *t);

/* An abandoned one whose run has returned: it is not counted as stuck any more. */
void runtime_profiler_recovered(struct runtime_profiler *p);

/* From any thread. */
void runtime_profiler_position(struct runtime_profiler *p, struct runtime_position *ret);

#endif /* NODE_AGENT_RUNTIME_RUNTIME_PROFILER_H */
