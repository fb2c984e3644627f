/*
 * Java as a runtime: finds the JVMs of the node, reports their counters and why each of them has
 * Java profiles or not, and with its option, has async-profiler make CPU, allocation and lock
 * profiles in them.
 */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_PROFILER_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_PROFILER_H

#include "common/base.h"
#include "common/jfr/jfr_stacks.h"
#include "node-agent/java/profile/java_plan.h"
#include "node-agent/runtime/runtime_ops.h"

#define JAVA_PROFILER_WALL_NS UINT64_C(100000000) /* between two samples by wall clock */

/* runtime_worker_config.config for java_runtime_ops; copied, but for library. */
struct java_profiler_config {
	struct java_plan_config plan;
	struct jfr_settings settings; /* what is sampled, and how often; 0: not at all */
	const char *library;          /* path of libasyncProfiler.so; "": not installed */
};

extern const struct runtime_ops java_runtime_ops;

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_PROFILER_H */
