/*
 * What reading Go processes counts for /metrics: registered once, and shared by all threads that do it.
 */
#ifndef NODE_AGENT_GO_PROFILE_GO_METRICS_H
#define NODE_AGENT_GO_PROFILE_GO_METRICS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/go_profile/go_counters.h"
#include "node-agent/go_profile/go_locks.h"

enum go_metric {
	GO_METRIC_PROCESSES,
	GO_METRIC_PROCESSES_DENIED,
	GO_METRIC_LOOKS_FAILED,
	GO_METRIC_HEAP_PROFILES, /* those of one name are together */
	GO_METRIC_GOROUTINE_PROFILES,
	GO_METRIC_MUTEX_PROFILES,
	GO_METRIC_BLOCK_PROFILES,
	GO_METRIC_BUCKETS,
	GO_METRIC_TORN,
	GO_METRIC_BACKWARDS,
	GO_METRIC_OFF,
	GO_METRIC_FORCED,
	GO_METRIC_RESTORED,
	GO_METRIC_GOROUTINES,
	GO_METRIC_GOROUTINES_RUNNING,
	GO_METRIC_GOROUTINES_MOVED,
	GO_METRIC_GOROUTINES_LIMITED,
	GO_METRIC_GOROUTINES_UNREADABLE,
	GO_METRIC_GOROUTINES_BROKEN,
	GO_METRIC_GOROUTINES_CUT,
	GO_METRIC_GOROUTINES_BAD,
	GO_METRIC_CPU_NS,
	GO_METRIC_LEFT_OUT,
	GO_METRIC_STUCK,
	/* readings that failed, by reason */
	GO_METRIC_GONE,
	GO_METRIC_COPY,
	GO_METRIC_DENIED,
	GO_METRIC_UNKNOWN,
	GO_METRIC_CORRUPT,
	GO_METRIC_LIMIT_BUCKETS,
	GO_METRIC_LIMIT_BYTES,
	GO_METRIC_LIMIT_TIME,
	GO_METRIC_LIMIT_PROFILE,
	GO_METRIC_HUNG,
	GO_METRIC_NO_MEMORY,
	GO_METRIC_QUEUE_FULL,
	GO_METRIC_UNREADABLE,
	GO_METRIC_MAX,
};

struct go_metrics {
	atomic_uint n_refs;
	struct metric of[GO_METRIC_MAX];
	struct metric locks[GO_LOCKS_METRICS];
	struct go_counters *counters;
};

/* With one reference, which outlives ms. -ENOMEM; -EINVAL: a broken table. */
int go_metrics_new(struct go_metrics **ret, struct metrics *ms) MUST_CHECK;
struct go_metrics *go_metrics_ref(struct go_metrics *m);
/* NULL is allowed. */
void go_metrics_unref(struct go_metrics *m);
DEFINE_CLEANUP(struct go_metrics *, go_metrics_unref);

/* Which of the reasons an error of a reading is. */
enum go_metric go_metrics_reason(int error);

#endif /* NODE_AGENT_GO_PROFILE_GO_METRICS_H */
