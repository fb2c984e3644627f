/*
 * Stage 6: heap profiles of all Go processes of the node. Finds them by looking through /proc, idle
 * ones too, and reads each once per interval; processes found together are spread over it.
 *
 * A thread of its own does all of that, because memory of other processes may take a while to read.
 * What a profile covers is said by the first round: of processes that ran before the agent
 * allocations count from then, of others from their start. All functions are called from
 * the loop thread.
 */
#ifndef NODE_AGENT_HEAP_HEAP_WORKER_H
#define NODE_AGENT_HEAP_HEAP_WORKER_H

#include "common/base.h"
#include "common/buf.h"
#include "common/err.h"
#include "common/loop.h"
#include "common/metrics.h"

struct heap_worker;

/* One process's pprof. Strings are borrowed; the content of pprof may be taken (buf_take). */
struct heap_upload {
	const char *service;
	const char *container_id;
	struct buf *pprof;
};

struct heap_worker_config {
	const char *proc_root; /* NULL: "/proc" */
	uint64_t interval_ns;
	bool raw;     /* counters as they are, not scaled by their sampling rate */
	bool force;   /* switch profilers on that the linker has switched off: go_force.h */
	bool restore; /* and off again in the end */
	void (*on_profile)(void *ctx, const struct heap_upload *u); /* on the loop thread */
	void *ctx;
};

/* l and ms are borrowed. -ENOMEM; -EAGAIN (no thread); -errno with err set: no /proc. */
int heap_worker_new(struct heap_worker **ret, struct loop *l, struct metrics *ms,
		    const struct heap_worker_config *cfg, struct err *err) MUST_CHECK;
/* Waits for the process in work; what was made of it is dropped. NULL is allowed. */
void heap_worker_free(struct heap_worker *w);
DEFINE_CLEANUP(struct heap_worker *, heap_worker_free);

#endif /* NODE_AGENT_HEAP_HEAP_WORKER_H */
