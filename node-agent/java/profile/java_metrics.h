/* What is counted of Java only; the rest is in runtime/runtime_metrics.h. */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_METRICS_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_METRICS_H

#include "common/base.h"
#include "common/jfr/jfr_stacks.h"
#include "common/telemetry/metrics.h"
#include "node-agent/java/java_state.h"
#include "node-agent/java/profile/java_stacks.h"
#include "node-agent/runtime/runtime_metrics.h"

enum java_metric {
	JAVA_METRIC_STARTS,       /* recordings */
	JAVA_METRIC_STOPS,        /* when the agent or a JVM left */
	JAVA_METRIC_TAKEN_OVER,   /* recordings of an earlier agent */
	JAVA_METRIC_READS,        /* of a recording */
	JAVA_METRIC_BYTES,        /* of recordings */
	JAVA_METRIC_EVENTS,       /* of recordings */
	JAVA_METRIC_READ_SECONDS, /* CPU time */
	JAVA_METRIC_BROKEN,       /* recordings that could not be read to their end */
	JAVA_METRIC_MISSING,      /* recordings that somebody removed */
	JAVA_METRIC_UNANSWERED,   /* commands */
	/* attempts that failed: JAVA_METRIC_FAILED_BY() */
	JAVA_METRIC_FAILED,
	/* events that are not in the profiles, by reason */
	JAVA_METRIC_LOST = JAVA_METRIC_FAILED + JAVA_STATES - JAVA_STATE_FAILURES,
	JAVA_METRIC_LOST_PROFILE_FULL = JAVA_METRIC_LOST + JFR_LOSS_MAX,
	JAVA_METRICS,
};

/* Of attempts that failed with this state, which is JAVA_STATE_FAILURES or after it. */
#define JAVA_METRIC_FAILED_BY(state) (JAVA_METRIC_FAILED + (state)-JAVA_STATE_FAILURES)

extern const struct metric_def java_metrics_runtime[RUNTIME_METRICS];
extern const struct metric_def java_metrics_profiles[JAVA_PROFILES];

/* As metrics_register(). */
int java_metrics_register(struct metrics *ms, struct metric metrics[JAVA_METRICS]) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_METRICS_H */
