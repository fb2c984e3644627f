/*
 * What every runtime counts for /metrics. The names carry the runtime's prefix, so each
 * runtime has a table of its own, a struct metric_def[RUNTIME_METRICS] that
 * RUNTIME_METRIC_DEFS() fills in.
 */
#ifndef NODE_AGENT_RUNTIME_RUNTIME_METRICS_H
#define NODE_AGENT_RUNTIME_RUNTIME_METRICS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"

#define RUNTIME_PROFILES_MAX 8u

enum runtime_metric {
	RUNTIME_METRIC_PROCESSES,
	RUNTIME_METRIC_DENIED,
	RUNTIME_METRIC_EXCLUDED,
	RUNTIME_METRIC_LIBRARIES_FAILED,
	RUNTIME_METRIC_CPU_NS,
	RUNTIME_METRIC_LEFT_OUT,
	RUNTIME_METRIC_STUCK,
	RUNTIME_METRIC_CONTAINERS,
	RUNTIME_METRIC_CONTAINERS_OVERFLOW,
	RUNTIME_METRIC_COUNTERS_BACKWARDS,
	/* readings that failed, by reason */
	RUNTIME_METRIC_FAILED_GONE,
	RUNTIME_METRIC_FAILED_COPY,
	RUNTIME_METRIC_FAILED_DENIED,
	RUNTIME_METRIC_FAILED_UNKNOWN,
	RUNTIME_METRIC_FAILED_CORRUPT,
	RUNTIME_METRIC_FAILED_RECORDS,
	RUNTIME_METRIC_FAILED_BYTES,
	RUNTIME_METRIC_FAILED_TIME,
	RUNTIME_METRIC_FAILED_PROFILE,
	RUNTIME_METRIC_FAILED_HUNG,
	RUNTIME_METRIC_FAILED_NO_MEMORY,
	RUNTIME_METRIC_FAILED_QUEUE_FULL,
	RUNTIME_METRIC_FAILED_UNREADABLE,
	RUNTIME_METRICS,
};

#define RUNTIME_FAILED_DEF(prefix, title, reason)                                 \
	{                                                                         \
		prefix "_readings_failed_total", "reason=\"" reason "\"",         \
			"Readings of a " title " process that failed, by reason", \
	}

/* prefix: "coroot_node_agent_go"; title: "Go". */
#define RUNTIME_METRIC_DEFS(prefix, title)                                                         \
	[RUNTIME_METRIC_PROCESSES] = {prefix "_processes", NULL, title " processes being read",    \
				      METRIC_GAUGE},                                               \
	[RUNTIME_METRIC_DENIED] =                                                                  \
		{prefix "_processes_denied", NULL,                                                 \
		 "Processes that the agent is not permitted to examine for " title, METRIC_GAUGE}, \
	[RUNTIME_METRIC_EXCLUDED] = {prefix "_processes_excluded", NULL,                           \
				     "Processes that are not examined for " title                  \
				     " because they are excluded from "                            \
				     "profiling",                                                  \
				     METRIC_GAUGE},                                                \
	[RUNTIME_METRIC_LIBRARIES_FAILED] = {prefix "_library_looks_failed_total", NULL,           \
					     "Searches of a process for " title                    \
					     " libraries that failed or were incomplete"},         \
	[RUNTIME_METRIC_CPU_NS] = {prefix "_cpu_seconds_total", NULL,                              \
				   "CPU time spent on " title " processes", .scale = 1e-9},        \
	[RUNTIME_METRIC_LEFT_OUT] = {prefix "_processes_left_out_total", NULL,                     \
				     "Processes ignored because reading their memory hung"},       \
	[RUNTIME_METRIC_STUCK] =                                                                   \
		{prefix "_stuck_threads", NULL,                                                    \
		 "Threads of the agent that hang reading the memory of a process", METRIC_GAUGE},  \
	[RUNTIME_METRIC_CONTAINERS] = {prefix "_containers", NULL,                                 \
				       "Containers with metrics of " title " processes",           \
				       METRIC_GAUGE},                                              \
	[RUNTIME_METRIC_CONTAINERS_OVERFLOW] =                                                     \
		{prefix "_containers_overflow_total", NULL,                                        \
		 "Readings of " title                                                              \
		 " processes without container metrics: too many containers"},                     \
	[RUNTIME_METRIC_COUNTERS_BACKWARDS] = {prefix "_counters_backwards_total", NULL,           \
					       "Counters of " title                                \
					       " processes that decreased: counted as unchanged"}, \
	[RUNTIME_METRIC_FAILED_GONE] = RUNTIME_FAILED_DEF(prefix, title, "gone"),                  \
	[RUNTIME_METRIC_FAILED_COPY] = RUNTIME_FAILED_DEF(prefix, title, "copy_of_parent"),        \
	[RUNTIME_METRIC_FAILED_DENIED] = RUNTIME_FAILED_DEF(prefix, title, "denied"),              \
	[RUNTIME_METRIC_FAILED_UNKNOWN] = RUNTIME_FAILED_DEF(prefix, title, "unknown_layout"),     \
	[RUNTIME_METRIC_FAILED_CORRUPT] = RUNTIME_FAILED_DEF(prefix, title, "corrupt_list"),       \
	[RUNTIME_METRIC_FAILED_RECORDS] = RUNTIME_FAILED_DEF(prefix, title, "limit_records"),      \
	[RUNTIME_METRIC_FAILED_BYTES] = RUNTIME_FAILED_DEF(prefix, title, "limit_bytes"),          \
	[RUNTIME_METRIC_FAILED_TIME] = RUNTIME_FAILED_DEF(prefix, title, "limit_time"),            \
	[RUNTIME_METRIC_FAILED_PROFILE] = RUNTIME_FAILED_DEF(prefix, title, "limit_profile"),      \
	[RUNTIME_METRIC_FAILED_HUNG] = RUNTIME_FAILED_DEF(prefix, title, "hung"),                  \
	[RUNTIME_METRIC_FAILED_NO_MEMORY] = RUNTIME_FAILED_DEF(prefix, title, "no_memory"),        \
	[RUNTIME_METRIC_FAILED_QUEUE_FULL] = RUNTIME_FAILED_DEF(prefix, title, "queue_full"),      \
	[RUNTIME_METRIC_FAILED_UNREADABLE] = RUNTIME_FAILED_DEF(prefix, title, "unreadable")

/* One kind of profile: profile is the value of its label. */
#define RUNTIME_PROFILE_DEF(prefix, title, profile)                      \
	{                                                                \
		prefix "_profiles_total", "profile=\"" profile "\"",     \
			"Profiles made of " title " processes, by kind", \
	}

/* Which of the reasons an error of a reading is counted as. */
enum runtime_metric runtime_metrics_reason(int error);

#endif /* NODE_AGENT_RUNTIME_RUNTIME_METRICS_H */
