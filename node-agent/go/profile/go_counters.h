/*
 * The numbers of a Go program that are shown per container: what its memory manager counts,
 * and goroutines.
 *
 * Allocations are exact where the release counts them, else those of the memory profiler,
 * scaled.
 */
#ifndef NODE_AGENT_GO_PROFILE_GO_COUNTERS_H
#define NODE_AGENT_GO_PROFILE_GO_COUNTERS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/go/gc/gc_counters.h"
#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/runtime/runtime_containers.h"

/* Indexes in go_counters_values: each enum gc_counter, and: */
#define GO_COUNTERS_GOROUTINES GC_COUNTERS
#define GO_COUNTERS_VALUES (GC_COUNTERS + 1)

extern const struct metric_def go_counters_values[GO_COUNTERS_VALUES];

enum go_counters_unread {
	GO_COUNTERS_UNREAD_RELEASE,
	GO_COUNTERS_UNREAD_NOT_FOUND,
	GO_COUNTERS_UNREAD_IMPLAUSIBLE,
	GO_COUNTERS_UNREAD_GOROUTINES,
	GO_COUNTERS_UNREAD_MAX,
};

/* As metrics_register(). */
int go_counters_register_metrics(struct metrics *ms,
				 struct metric unread[GO_COUNTERS_UNREAD_MAX]) MUST_CHECK;

/*
 * Returns 0, also if numbers are missing, which is counted in unread; -ENOMEM; or an error of
 * byte_source_read().
 */
int go_counters_read(struct go_opened *o, struct metric unread[GO_COUNTERS_UNREAD_MAX],
		     struct container_values *ret) MUST_CHECK;

/*
 * Returns the allocations of a reading as increments of the counters; none if the release
 * counts them exactly, or if the memory profiler is off.
 */
struct container_values go_counters_of_heap(struct go_opened *o, const struct heap_reading *heap);

#endif /* NODE_AGENT_GO_PROFILE_GO_COUNTERS_H */
