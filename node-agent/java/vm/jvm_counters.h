/*
 * The metrics of a JVM from its hsperfdata, with Coroot's names and labels: container_jvm_info and
 * others. Units and names do not follow Prometheus' conventions everywhere (no _total), because
 * Coroot's dashboards and alerts expect these.
 *
 * Families are put into a runtime's table of series (runtime_ops.series) with JVM_COUNTERS_DEFS,
 * from index 0 on.
 */
#ifndef NODE_AGENT_JAVA_VM_JVM_COUNTERS_H
#define NODE_AGENT_JAVA_VM_JVM_COUNTERS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/java/vm/hsperfdata.h"
#include "node-agent/runtime/runtime_ops.h"

#define JVM_COUNTERS_LABEL_BYTES 600u /* `jvm="…"` of the longest name, all of it escaped */

enum jvm_counter {
	JVM_COUNTER_INFO,
	JVM_COUNTER_HEAP_SIZE,
	JVM_COUNTER_HEAP_USED,
	JVM_COUNTER_GC_TIME,
	JVM_COUNTER_SAFEPOINT_TIME,
	JVM_COUNTER_SAFEPOINT_SYNC_TIME,
	JVM_COUNTERS, /* the first index for families of others */
};

#define JVM_COUNTERS_LABELS "container_id, app_id, jvm"
#define JVM_COUNTERS_DEFS                                                                      \
	[JVM_COUNTER_INFO] = {"container_jvm_info", JVM_COUNTERS_LABELS ", java_version",      \
			      "JVMs of the container: always 1", METRIC_GAUGE},                \
	[JVM_COUNTER_HEAP_SIZE] = {"container_jvm_heap_size_bytes", JVM_COUNTERS_LABELS,       \
				   "Heap that the JVM has reserved for objects by now",        \
				   METRIC_GAUGE},                                              \
	[JVM_COUNTER_HEAP_USED] = {"container_jvm_heap_used_bytes", JVM_COUNTERS_LABELS,       \
				   "Heap in use, as of the JVM's last update of its counters", \
				   METRIC_GAUGE},                                              \
	[JVM_COUNTER_GC_TIME] = {"container_jvm_gc_time_seconds", JVM_COUNTERS_LABELS ", gc",  \
				 "Time spent in a garbage collector of the JVM",               \
				 METRIC_COUNTER_NAMED, .scale = 1e-9},                         \
	[JVM_COUNTER_SAFEPOINT_TIME] = {"container_jvm_safepoint_time_seconds",                \
					JVM_COUNTERS_LABELS,                                   \
					"Time for which the JVM was stopped at safepoints",    \
					METRIC_COUNTER_NAMED, .scale = 1e-9},                  \
	[JVM_COUNTER_SAFEPOINT_SYNC_TIME] = {"container_jvm_safepoint_sync_time_seconds",      \
					     JVM_COUNTERS_LABELS,                              \
					     "Time that the JVM's threads took to reach "      \
					     "safepoints",                                     \
					     METRIC_COUNTER_NAMED, .scale = 1e-9}

/* The series of one JVM, and the texts that they point to: do not copy it. */
struct jvm_counters {
	struct container_series series[JVM_COUNTERS + HSPERFDATA_COLLECTORS_MAX];
	size_t n;
	char jvm[JVM_COUNTERS_LABEL_BYTES];
	char info[JVM_COUNTERS_LABEL_BYTES + 160]; /* with java_version */
	char gc[HSPERFDATA_COLLECTORS_MAX][JVM_COUNTERS_LABEL_BYTES + 160];
};

/* name: of the process, used as the label if the JVM does not publish its command. Pure. */
void jvm_counters_make(struct jvm_counters *ret, const struct hsperfdata *h, const char *name);

/*
 * Reports what was read by runtime_turn_series(). Returns an error of that, or -ENOMEM. name: as
 * above.
 */
int jvm_counters_report(struct runtime_turn *t, const struct hsperfdata *h,
			const char *name) MUST_CHECK;

/* Writes `jvm="<command>"`, or `jvm="<name>"` if that is unknown: labels begin with it. */
void jvm_counters_label(char to[JVM_COUNTERS_LABEL_BYTES], const struct hsperfdata *h,
			const char *name);

#endif /* NODE_AGENT_JAVA_VM_JVM_COUNTERS_H */
