/* What is remembered of a Go program from turn to turn. One thread. */
#ifndef NODE_AGENT_GO_PROFILE_GO_SESSION_H
#define NODE_AGENT_GO_PROFILE_GO_SESSION_H

#include "common/base.h"
#include "node-agent/go/lock/lock_reader.h"
#include "node-agent/go/record/bucket_history.h"
#include "node-agent/runtime/runtime_ops.h"

struct go_session {
	struct bucket_history *heap;
	uint64_t heap_reported_ns; /* end of the last heap profile, on clock_monotonic_ns() */
	bool is_heap_ours;         /* the memory profiler is on because we switched it on */
	struct lock_session locks[LOCK_KINDS];
	uint64_t burst_end_ns; /* when the block profiler is to be switched off; 0: no burst */
	bool read_only; /* the agent may not write to it, so its profilers are read as they are */
};

/* Returns 0 or -ENOMEM. */
int go_session_new(struct go_session **ret, enum runtime_baseline baseline,
		   uint64_t now_ns) MUST_CHECK;
void go_session_free(struct go_session *s);
DEFINE_CLEANUP(struct go_session *, go_session_free);

/* Memory used by the histories of records. */
size_t go_session_bytes(const struct go_session *s);

/*
 * Forgets what the profilers counted. With RUNTIME_BASELINE_ZERO another program is executed,
 * whose profilers we have not switched on. Returns 0 or -ENOMEM.
 */
int go_session_reset(struct go_session *s, enum runtime_baseline baseline) MUST_CHECK;

/*
 * Its memory profiler was just switched on: forgets what that counted before. Returns 0 or
 * -ENOMEM.
 */
int go_session_restart_heap(struct go_session *s) MUST_CHECK;

#endif /* NODE_AGENT_GO_PROFILE_GO_SESSION_H */
