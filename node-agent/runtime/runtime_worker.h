/*
 * Profiles of all processes of the node that have one language runtime: finds them among those that
 * the process table reports, and reads each once per interval; processes that are found together
 * are spread over it.
 *
 * A thread does all of that (runtime_profiler.h), as it may wait for memory and files of other
 * processes. Each runtime has a worker, and so a thread, of its own. With one thread for all, a
 * runtime that blocks would delay all others, and a hang would cost all of them what they remember.
 *
 * A thread that stalls on a process is abandoned, with one warning, and another one continues
 * without that process. At most RUNTIME_WORKER_MAX_STUCK threads may be abandoned at the same
 * time; after that nothing is profiled until one of them returns. All functions are called
 * from the loop thread.
 */
#ifndef NODE_AGENT_RUNTIME_RUNTIME_WORKER_H
#define NODE_AGENT_RUNTIME_RUNTIME_WORKER_H

#include "common/base.h"
#include "common/err.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "node-agent/runtime/runtime_filter.h"
#include "node-agent/runtime/runtime_ops.h"
#include "node-agent/workload/workload.h"

#define RUNTIME_WORKER_MAX_STUCK 4u
/* Without using any CPU time: every wait that is intended has a far lower limit. */
#define RUNTIME_WORKER_HANG_NS ((uint64_t)30 * 1000 * 1000 * 1000)
#define RUNTIME_WORKER_END_NS ((uint64_t)5 * 1000 * 1000 * 1000)
/* What all sessions of a runtime may use: ten million records of a Go profiler. */
#define RUNTIME_WORKER_HISTORY_BYTES ((size_t)256 * 1024 * 1024)

struct name_rules;
struct process_table;
struct runtime_states;
struct runtime_worker;

/* A finished profile of one process. Borrowed; the content of pprof may be taken (buf_take). */
struct runtime_upload {
	struct workload *workload;
	struct buf *pprof;
	unsigned profile; /* index in runtime_ops.profiles */
};

struct runtime_worker_config {
	const struct runtime_ops *ops;
	const void *config; /* for ops->shared_new(); borrowed until runtime_worker_new() returns */
	const char *proc_root; /* NULL: "/proc" */
	/* Finds the processes, below the same root. Borrowed until runtime_worker_free(). */
	struct process_table *processes;
	uint64_t interval_ns;
	struct runtime_filter filter;  /* outlives the worker; names containers in metrics, too */
	struct name_rules *name_rules; /* for bare processes; borrowed; NULL: none */
	struct runtime_states *states; /* borrowed; NULL: states are not collected */
	size_t history_max_bytes;      /* 0: RUNTIME_WORKER_HISTORY_BYTES */
	uint64_t hang_ns;              /* how long a thread may stall; 0: RUNTIME_WORKER_HANG_NS */
	uint64_t end_ns; /* how long the end waits for a thread; 0: RUNTIME_WORKER_END_NS */
	void (*on_profile)(void *ctx, const struct runtime_upload *u); /* on the loop thread */
	void *ctx;
};

/*
 * l and ms are borrowed. Returns 0, -ENOMEM, -EAGAIN if no thread can be made, or -errno with
 * err set if there is no /proc.
 */
int runtime_worker_new(struct runtime_worker **ret, struct loop *l, struct metrics *ms,
		       const struct runtime_worker_config *cfg, struct err *err) MUST_CHECK;

/*
 * Stops reading; what was changed in processes is undone in the background. Does not wait.
 * NULL is allowed.
 */
void runtime_worker_stop(struct runtime_worker *w);

/*
 * Stops, and waits a few seconds at most: a thread that hangs is left behind, with a warning.
 * Profiles that were not passed to on_profile yet are dropped. NULL is allowed.
 */
void runtime_worker_free(struct runtime_worker *w);
DEFINE_CLEANUP(struct runtime_worker *, runtime_worker_free);

#endif /* NODE_AGENT_RUNTIME_RUNTIME_WORKER_H */
