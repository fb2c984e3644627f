/*
 * Mutex and block profiles in the turns of Go processes: what is read when, and what is counted of it. Used by the worker's
 * thread only.
 *
 * The mutex profiler of a process stays on from its first turn until the agent ends. The block profiler is on
 * for a burst at the beginning of each turn, after which the process is due once more.
 */
#ifndef NODE_AGENT_GO_PROFILE_GO_LOCKS_H
#define NODE_AGENT_GO_PROFILE_GO_LOCKS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go/lock/lock_reader.h"
#include "node-agent/go_profile/go_processes.h"

#define GO_LOCKS_METRICS 12u /* per profiler: half of them */

struct go_locks_config {
	bool mutex;
	bool block;
	uint64_t burst_ns;
};

struct go_locks {
	struct go_locks_config cfg;
	struct tick_clock clock;
	struct metric *metrics; /* borrowed */
};

/* As metrics_register(). */
int go_locks_register_metrics(struct metrics *ms,
			      struct metric metrics[GO_LOCKS_METRICS]) MUST_CHECK;

void go_locks_init(struct go_locks *l, struct metric *metrics, const struct go_locks_config *cfg);

/*
 * One profiler of an open process. Appends a pprof to out if there is something to tell. 0; errors of lock_session_read(), then
 * of lock_rate_switch(), when it could only be read.
 */
int go_locks_read(struct go_locks *l, enum lock_kind kind, struct go_process *g,
		  const struct go_opened *o, uint64_t now_ns, struct buf *out) MUST_CHECK;

/* What may be on in it is taken for ours: by another thread of this agent, which has not told. */
void go_locks_claim(const struct go_locks *l, struct go_process *g);

/* Whether the agent's end has anything to switch off in it. */
bool go_locks_any_ours(const struct go_process *g);

/* What is ours is switched off. The first error of lock_session_restore(). */
int go_locks_restore(struct go_locks *l, struct go_process *g,
		     const struct go_opened *o) MUST_CHECK;

#endif /* NODE_AGENT_GO_PROFILE_GO_LOCKS_H */
