/*
 * Reads the counters of one Go process into its container's metrics. From several threads, if each has processes of its own.
 *
 * Allocations are exact where the release tells them, else those of the memory profiler, scaled.
 */
#ifndef NODE_AGENT_GO_PROFILE_GO_COUNTERS_H
#define NODE_AGENT_GO_PROFILE_GO_COUNTERS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go_profile/go_containers.h"
#include "node-agent/go_profile/go_processes.h"

struct go_counters;

/* ms is borrowed, and freed before. Results of go_containers_new(). */
int go_counters_new(struct go_counters **ret, struct metrics *ms) MUST_CHECK;
/* After the shares of all processes. NULL is allowed. */
void go_counters_free(struct go_counters *c);
DEFINE_CLEANUP(struct go_counters *, go_counters_free);

/* 0, also when there is nothing that can be told, which is counted; -ENOMEM; those of byte_source_read(). */
int go_counters_read(struct go_counters *c, struct go_process *g, struct go_opened *o) MUST_CHECK;

/* What the memory profiler has counted since the last reading. Results as above. */
int go_counters_add_heap(struct go_counters *c, struct go_process *g, struct go_opened *o,
			 const struct heap_reading *heap) MUST_CHECK;

/* Processes that were read so far are read by nobody any more: go_containers_disown(). */
void go_counters_disown(struct go_counters *c);

/* Now and then: forgets containers that have gone. */
void go_counters_expire(struct go_counters *c, uint64_t now_ns);

#endif /* NODE_AGENT_GO_PROFILE_GO_COUNTERS_H */
