/*
 * Reads all Go processes that there are, each once per interval, in turns on one thread.
 *
 * A reading may wait for ever: memory of a process can be that of a file whose file system does not answer. The thread is then
 * abandoned by its owner, and another profiler takes over, which leaves that process out. What it began is told by nobody: of
 * the others the new one tells what is counted from its first round on.
 */
#ifndef NODE_AGENT_GO_PROFILE_GO_PROFILER_H
#define NODE_AGENT_GO_PROFILE_GO_PROFILER_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"
#include "common/thread/worker_thread.h"
#include "node-agent/go/goroutine/goroutine_reader.h"
#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go_profile/go_locks.h"
#include "node-agent/go_profile/go_metrics.h"

/* What is remembered of records of all processes: of ten million. */
#define GO_PROFILER_HISTORY_BYTES ((size_t)256 * 1024 * 1024)

#define GO_PROFILER_MAX_LEFT_OUT 64u

struct go_profiler;

struct go_profiler_config {
	const char *proc_root; /* NULL: "/proc" */
	uint64_t interval_ns;
	size_t history_max_bytes;              /* of all processes; 0: GO_PROFILER_HISTORY_BYTES */
	bool heap;                             /* read heap profiles */
	struct heap_reader_config heap_reader; /* how */
	bool heap_restore; /* switch off in the end what force has switched on */
	bool goroutines;   /* read goroutine profiles */
	struct goroutine_reader_config goroutine_reader; /* how */
	struct go_locks_config locks;
};

/* A profile, for go_result_free(). */
struct go_result {
	struct workload *workload;
	struct buf pprof;
	enum go_metric kind; /* which counts it, when it is taken on */
};

/* What it is given by its owner. */
struct go_profiler_owner {
	struct go_metrics *metrics; /* it takes a reference */
	/* On its thread, while that is not abandoned. Takes r on success; -EAGAIN: there are too many. */
	int (*take)(void *ctx, struct go_result *r);
	void *ctx;
};

/* What is known from those that were abandoned before. */
struct go_profiler_past {
	bool any;
	uint64_t seen_ticks; /* go_processes_config.seen_ticks */
	/* a ring: the latest ones */
	struct program_id left_out[GO_PROFILER_MAX_LEFT_OUT];
	size_t n_left_out;
	size_t next;
};

/* Where it is. */
struct go_profiler_position {
	bool is_busy;         /* it does not wait for its next turn */
	struct program_id id; /* pid 0: at no process in particular; start_time 0: not known yet */
	uint64_t since_ns;    /* on clock_monotonic_ns() */
	uint64_t seen_ticks;  /* for its successor */
};

void go_result_free(struct go_result *r);
DEFINE_CLEANUP(struct go_result *, go_result_free);

/* past is copied. -ENOMEM; -errno with err set: no /proc. */
int go_profiler_new(struct go_profiler **ret, const struct go_profiler_config *cfg,
		    const struct go_profiler_owner *owner, const struct go_profiler_past *past,
		    struct err *err) MUST_CHECK;
void go_profiler_free(struct go_profiler *p);
DEFINE_CLEANUP(struct go_profiler *, go_profiler_free);

/*
 * Until t must end. Then what is on because it, or an agent before it, has switched it on is switched off again; an
 * abandoned one looks after the process that it waited for, which is left out by others.
 */
void go_profiler_run(struct go_profiler *p, struct worker_thread *t);

/* An abandoned one, before it is freed: is counted as such no more. */
void go_profiler_came_back(struct go_profiler *p);

/* From any thread. */
void go_profiler_position(struct go_profiler *p, struct go_profiler_position *ret);

#endif /* NODE_AGENT_GO_PROFILE_GO_PROFILER_H */
