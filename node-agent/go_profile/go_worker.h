/*
 * Profiles of all Go processes of the node, read from their memory. Finds them by looking through /proc, idle
 * ones too, and reads each once per interval; processes found together are spread over it.
 *
 * A thread of its own does all of that (go_profiler.h), because memory of other processes may take a while to read. What a profile
 * covers is said by the first round: of processes that ran before the agent allocations count from then, of others from their
 * start.
 *
 * A thread that stands still at a process is abandoned, with one warning: another one goes on without that process. As many as
 * GO_WORKER_MAX_STUCK may wait at a time; then Go processes are not profiled until one comes back. All functions are called
 * from the loop thread.
 */
#ifndef NODE_AGENT_GO_PROFILE_GO_WORKER_H
#define NODE_AGENT_GO_PROFILE_GO_WORKER_H

#include "common/base.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "node-agent/go_profile/go_profiler.h"

#define GO_WORKER_MAX_STUCK 4u
/* Without any CPU time used: whatever is waited for on purpose has a limit far below. */
#define GO_WORKER_HANG_NS ((uint64_t)30 * 1000 * 1000 * 1000)

struct go_worker;

/* One process's pprof. Borrowed; the content of pprof may be taken (buf_take). */
struct go_upload {
	const struct workload *workload;
	struct buf *pprof;
};

struct go_worker_config {
	struct go_profiler_config profiler;
	uint64_t hang_ns; /* for how long a thread may stand still; 0: GO_WORKER_HANG_NS */
	void (*on_profile)(void *ctx, const struct go_upload *u); /* on the loop thread */
	void *ctx;
};

/* l and ms are borrowed. -ENOMEM; -EAGAIN (no thread); -errno with err set: no /proc. */
int go_worker_new(struct go_worker **ret, struct loop *l, struct metrics *ms,
		  const struct go_worker_config *cfg, struct err *err) MUST_CHECK;

/* Nothing is read any more, and what was switched on is switched off again, meanwhile. NULL is allowed. */
void go_worker_stop(struct go_worker *w);

/*
 * The same, and waits for it a few seconds at most: a thread that hangs is left behind, with a warning. Profiles that have
 * not been taken are dropped. NULL is allowed.
 */
void go_worker_free(struct go_worker *w);
DEFINE_CLEANUP(struct go_worker *, go_worker_free);

#endif /* NODE_AGENT_GO_PROFILE_GO_WORKER_H */
