/*
 * The variables of Go's memory profiler in a process. Addresses are the process's.
 *
 * In code: mProf_FlushLocked walks the list, profilealloc and allocmcache (or nextSample) load the rate, schedinit or
 * init (before 1.20) look whether the linker has switched the profiler off (1.13 to 1.27).
 */
#ifndef NODE_AGENT_GO_HEAP_HEAP_VARIABLES_H
#define NODE_AGENT_GO_HEAP_HEAP_VARIABLES_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"
#include "node-agent/go/record/go_bucket.h"

/* Results of go_runtime_find(). */
int heap_variables_rate(struct go_runtime *rt, uint64_t *ret) MUST_CHECK;
int heap_variables_disabled(struct go_runtime *rt, uint64_t *ret) MUST_CHECK;

/* The list: also by its records' hashes (go_bucket_scan.h), whose results are added. */
int heap_variables_buckets(struct go_runtime *rt, const struct go_bucket_format *format,
			   uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_HEAP_HEAP_VARIABLES_H */
