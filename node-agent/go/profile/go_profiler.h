/*
 * Go as a runtime: heap, goroutine, mutex and block profiles and the counters of Go programs,
 * read from their memory. Nothing is stopped, and nothing is written unless an option asks for
 * it.
 */
#ifndef NODE_AGENT_GO_PROFILE_GO_PROFILER_H
#define NODE_AGENT_GO_PROFILE_GO_PROFILER_H

#include "common/base.h"
#include "node-agent/go/goroutine/goroutine_reader.h"
#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go/profile/go_locks.h"
#include "node-agent/runtime/runtime_ops.h"

/* runtime_worker_config.config for go_runtime_ops; copied. */
struct go_profiler_config {
	bool heap;                             /* read heap profiles */
	struct heap_reader_config heap_reader; /* how */
	bool heap_restore; /* switch off at the end what heap_reader.force has switched on */
	bool goroutines;   /* read goroutine profiles */
	struct goroutine_reader_config goroutine_reader; /* how */
	struct go_locks_config locks;
};

extern const struct runtime_ops go_runtime_ops;

/* Whether this index in its profiles is the heap's, in contrast to goroutines and locks. */
bool go_profile_is_heap(unsigned profile);

#endif /* NODE_AGENT_GO_PROFILE_GO_PROFILER_H */
