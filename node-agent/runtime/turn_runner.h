/*
 * Runs the turns of programs: opens one, runs its runtime's table of turns, and passes on the
 * profiles and values that result. Used by one thread.
 */
#ifndef NODE_AGENT_RUNTIME_TURN_RUNNER_H
#define NODE_AGENT_RUNTIME_TURN_RUNNER_H

#include "common/base.h"
#include "common/thread/worker_thread.h"
#include "node-agent/runtime/runtime_processes.h"
#include "node-agent/runtime/runtime_shared.h"
#include "node-agent/workload/workload.h"

struct process_namer;

/* A finished profile, for runtime_result_free(). */
struct runtime_result {
	struct workload *workload;
	struct buf pprof;
	unsigned profile; /* index in runtime_ops.profiles */
};

void runtime_result_free(struct runtime_result *r);
DEFINE_CLEANUP(struct runtime_result *, runtime_result_free);

/* Takes r on success. Returns 0, or -EAGAIN if there are too many results already. */
typedef int runtime_take_fn(void *ctx, struct runtime_result *r);

struct turn_runner {
	const struct runtime_ops *ops;
	void *reader; /* of ops->reader_new() */
	struct runtime_shared *shared;
	struct runtime_processes *processes;
	struct runtime_states *states; /* a reference; NULL: states are not collected */
	struct worker_thread *thread;  /* the calling one */
	runtime_take_fn *take;         /* called unless the thread is abandoned */
	void *take_ctx;
	struct process_namer *namer;
	int root_fd;              /* of /proc */
	size_t history_max_bytes; /* of all sessions */
};

/* Runs whichever turn of p is due, and decides when the next one is. p may be removed. */
void turn_runner_run(struct turn_runner *tr, struct runtime_process *p);

/*
 * Undoes what the agent changed in p, if it did. Returns 0, -ESRCH if it has exited, or an error of
 * runtime_ops.open() or runtime_ops.restore().
 */
int turn_runner_restore(struct turn_runner *tr, struct runtime_process *p) MUST_CHECK;

#endif /* NODE_AGENT_RUNTIME_TURN_RUNNER_H */
