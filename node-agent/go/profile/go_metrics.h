/* What is counted only of Go programs; the rest is in runtime/runtime_metrics.h. */
#ifndef NODE_AGENT_GO_PROFILE_GO_METRICS_H
#define NODE_AGENT_GO_PROFILE_GO_METRICS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/runtime/runtime_metrics.h"

enum go_metric {
	GO_METRIC_HEAP_RECORDS,
	GO_METRIC_HEAP_TORN,
	GO_METRIC_HEAP_BACKWARDS,
	GO_METRIC_HEAP_OFF,
	GO_METRIC_HEAP_FORCED,
	GO_METRIC_HEAP_RESTORED,
	GO_METRIC_GOROUTINES,
	GO_METRIC_GOROUTINES_RUNNING,
	GO_METRIC_GOROUTINES_MOVED,
	GO_METRIC_GOROUTINES_LIMITED,
	GO_METRIC_GOROUTINES_UNREADABLE,
	GO_METRIC_GOROUTINES_BROKEN,
	GO_METRIC_GOROUTINES_CUT,
	GO_METRIC_GOROUTINES_BAD,
	GO_METRICS,
};

enum go_profile {
	GO_PROFILE_HEAP,
	GO_PROFILE_GOROUTINE,
	GO_PROFILE_MUTEX,
	GO_PROFILE_BLOCK,
	GO_PROFILES,
};

extern const struct metric_def go_metrics_runtime[RUNTIME_METRICS];
extern const struct metric_def go_metrics_profiles[GO_PROFILES];

/* As metrics_register(). */
int go_metrics_register(struct metrics *ms, struct metric metrics[GO_METRICS]) MUST_CHECK;

#endif /* NODE_AGENT_GO_PROFILE_GO_METRICS_H */
