#include "node-agent/java/profile/java_metrics.h"

#define PREFIX "coroot_node_agent_java"
#define TITLE "Java"

#define FAILED(state, reason)                                                          \
	[JAVA_METRIC_FAILED_BY(state)] = {PREFIX "_attempts_failed_total",             \
					  "reason=\"" reason "\"",                     \
					  "Attempts to profile a JVM that failed, by " \
					  "reason"}
#define LOST(loss, reason)                                                                    \
	[JAVA_METRIC_LOST + (loss)] = {PREFIX "_events_lost_total", "reason=\"" reason "\"",  \
				       "Events of recordings that are not under their stack " \
				       "in a profile, or in none, by reason"}

const struct metric_def java_metrics_runtime[RUNTIME_METRICS] = {
	RUNTIME_METRIC_DEFS(PREFIX, TITLE),
};

const struct metric_def java_metrics_profiles[JAVA_PROFILES] = {
	[JAVA_PROFILE_CPU] = RUNTIME_PROFILE_DEF(PREFIX, TITLE, "cpu"),
	[JAVA_PROFILE_ALLOC] = RUNTIME_PROFILE_DEF(PREFIX, TITLE, "alloc"),
	[JAVA_PROFILE_LOCK] = RUNTIME_PROFILE_DEF(PREFIX, TITLE, "lock"),
	[JAVA_PROFILE_WALL] = RUNTIME_PROFILE_DEF(PREFIX, TITLE, "wall"),
};

static const struct metric_def metric_defs[JAVA_METRICS] = {
	[JAVA_METRIC_STARTS] = {PREFIX "_recordings_started_total", NULL,
				"Recordings that were started in JVMs"},
	[JAVA_METRIC_STOPS] = {PREFIX "_profiling_stopped_total", NULL,
			       "JVMs in which profiling was stopped, by the end of the agent or "
			       "because the JVM is excluded"},
	[JAVA_METRIC_TAKEN_OVER] = {PREFIX "_recordings_taken_over_total", NULL,
				    "Recordings of an earlier agent that were read and ended"},
	[JAVA_METRIC_READS] = {PREFIX "_recordings_read_total", NULL,
			       "Readings of a recording, one per JVM and interval"},
	[JAVA_METRIC_BYTES] = {PREFIX "_recorded_bytes_total", NULL,
			       "Bytes of recordings that were read"},
	[JAVA_METRIC_EVENTS] = {PREFIX "_events_total", NULL,
				"Events of recordings that were read"},
	[JAVA_METRIC_READ_SECONDS] = {PREFIX "_recordings_cpu_seconds_total", NULL,
				      "CPU time spent on reading recordings", .scale = 1e-9},
	[JAVA_METRIC_BROKEN] = {PREFIX "_recordings_broken_total", NULL,
				"Recordings that could not be read to their end"},
	[JAVA_METRIC_MISSING] = {PREFIX "_recordings_missing_total", NULL,
				 "Recordings that were removed by somebody else"},
	[JAVA_METRIC_UNANSWERED] = {PREFIX "_commands_unanswered_total", NULL,
				    "Commands that a JVM did not answer in time"},
	FAILED(JAVA_STATE_ATTACH_DISABLED, "attach_disabled"),
	FAILED(JAVA_STATE_LOADING_DISABLED, "loading_disabled"),
	FAILED(JAVA_STATE_SIGNALS_REDUCED, "signals_reduced"),
	FAILED(JAVA_STATE_UNSUPPORTED, "unsupported"),
	FAILED(JAVA_STATE_FOREIGN_PROFILER, "foreign_profiler"),
	FAILED(JAVA_STATE_OTHER_AGENT, "other_agent"),
	FAILED(JAVA_STATE_NO_LIBRARY, "no_library"),
	FAILED(JAVA_STATE_NO_PLACE, "no_place"),
	FAILED(JAVA_STATE_NO_PERMISSION, "no_permission"),
	FAILED(JAVA_STATE_UNRESPONSIVE, "unresponsive"),
	FAILED(JAVA_STATE_LOAD_FAILED, "load_failed"),
	FAILED(JAVA_STATE_START_FAILED, "start_failed"),
	FAILED(JAVA_STATE_FAILED, "failed"),
	LOST(JFR_LOSS_NO_STACK, "no_stack"),
	LOST(JFR_LOSS_UNKNOWN_STACK, "unknown_stack"),
	LOST(JFR_LOSS_STACKS_FULL, "stacks_full"),
	LOST(JFR_LOSS_NAMES_FULL, "names_full"),
	LOST(JFR_LOSS_NO_INTERVAL, "no_interval"),
	LOST(JFR_LOSS_BAD_EVENT, "bad_event"),
	LOST(JFR_LOSS_MAX, "profile_full"),
};
METRIC_TABLE(metric_table, metric_defs);

_Static_assert(JAVA_METRIC_LOST + JFR_LOSS_MAX == JAVA_METRIC_LOST_PROFILE_FULL,
	       "the last reason is ours");

int java_metrics_register(struct metrics *ms, struct metric metrics[JAVA_METRICS])
{
	return metrics_register(ms, &metric_table, metrics, NULL);
}
