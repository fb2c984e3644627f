/*
 * Profiles of all Go processes of the node, read from their memory. Finds them by looking through /proc, idle
 * ones too, and reads each once per interval; processes found together are spread over it.
 *
 * A thread of its own does all of that, because memory of other processes may take a while to read.
 * What a profile covers is said by the first round: of processes that ran before the agent
 * allocations count from then, of others from their start. All functions are called from
 * the loop thread.
 */
#ifndef NODE_AGENT_GO_PROFILE_GO_WORKER_H
#define NODE_AGENT_GO_PROFILE_GO_WORKER_H

#include "common/base.h"
#include "common/buf.h"
#include "common/err.h"
#include "common/loop.h"
#include "common/metrics.h"
#include "node-agent/go_profile/go_locks.h"
#include "node-agent/goroutine/goroutine_reader.h"
#include "node-agent/heap/heap_reader.h"

/* What is remembered of records of all processes: of ten million. */
#define GO_WORKER_HISTORY_BYTES ((size_t)256 * 1024 * 1024)

struct go_worker;

/* One process's pprof. Strings are borrowed; the content of pprof may be taken (buf_take). */
struct go_upload {
	const char *service;
	const char *container_id;
	struct buf *pprof;
};

struct go_worker_config {
	const char *proc_root; /* NULL: "/proc" */
	uint64_t interval_ns;
	size_t history_max_bytes;              /* of all processes; 0: GO_WORKER_HISTORY_BYTES */
	bool heap;                             /* read heap profiles */
	struct heap_reader_config heap_reader; /* how */
	bool heap_restore; /* switch off in the end what force has switched on */
	bool goroutines;   /* read goroutine profiles */
	struct goroutine_reader_config goroutine_reader; /* how */
	struct go_locks_config locks;
	void (*on_profile)(void *ctx, const struct go_upload *u); /* on the loop thread */
	void *ctx;
};

/* l and ms are borrowed. -ENOMEM; -EAGAIN (no thread); -errno with err set: no /proc. */
int go_worker_new(struct go_worker **ret, struct loop *l, struct metrics *ms,
		  const struct go_worker_config *cfg, struct err *err) MUST_CHECK;
/* Waits for the process in work; what was made of it is dropped. NULL is allowed. */
void go_worker_free(struct go_worker *w);
DEFINE_CLEANUP(struct go_worker *, go_worker_free);

#endif /* NODE_AGENT_GO_PROFILE_GO_WORKER_H */
