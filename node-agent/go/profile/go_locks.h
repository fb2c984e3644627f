/*
 * Mutex and block profiles in the turns of Go programs: when their profilers are switched on
 * and off, and what is counted. Used by one thread.
 *
 * The mutex profiler of a program stays on from its first turn until the agent stops. The
 * block profiler costs the program more, so it is on only for a burst at the beginning of each
 * turn; the end of the burst is a turn with a schedule of its own (go_session.burst_end_ns).
 */
#ifndef NODE_AGENT_GO_PROFILE_GO_LOCKS_H
#define NODE_AGENT_GO_PROFILE_GO_LOCKS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/go/profile/go_session.h"

#define GO_LOCKS_METRICS 12u /* per profiler: half of them */

struct go_locks_config {
	bool mutex;
	bool block;
	uint64_t burst_ns;
};

struct go_locks {
	struct go_locks_config cfg;
	struct tick_clock clock;
	struct metric *metrics; /* GO_LOCKS_METRICS of them, borrowed */
};

/* As metrics_register(). */
int go_locks_register_metrics(struct metrics *ms,
			      struct metric metrics[GO_LOCKS_METRICS]) MUST_CHECK;

void go_locks_init(struct go_locks *l, struct metric *metrics, const struct go_locks_config *cfg);

/*
 * Reads one profiler of the program that t has opened (t->handle is a struct go_opened,
 * t->session a struct go_session), and switches it as described above. Appends a pprof to out
 * if something is to be reported. Returns 0, an error of lock_session_read(), or one of
 * lock_rate_switch() if it could only be read.
 */
int go_locks_read(struct go_locks *l, enum lock_kind kind, const struct runtime_turn *t,
		  struct buf *out, struct stack_profile_parts *more) MUST_CHECK;

/*
 * Assumes that another thread of this agent, which left no record, has switched the profilers
 * on.
 */
void go_locks_claim(const struct go_locks *l, struct go_session *s);

/* Whether there is anything to switch off when the agent stops. */
bool go_locks_any_ours(const struct go_session *s);

/* Switches off what is ours. Returns 0 or the first error of lock_session_restore(). */
int go_locks_restore(struct go_locks *l, const struct runtime_turn *t) MUST_CHECK;

#endif /* NODE_AGENT_GO_PROFILE_GO_LOCKS_H */
