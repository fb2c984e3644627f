/*
 * Addresses of the memory profiler's variables in a Go process.
 *
 * Each function returns 0 or an error of go_runtime_find().
 */
#ifndef NODE_AGENT_GO_HEAP_HEAP_VARIABLES_H
#define NODE_AGENT_GO_HEAP_HEAP_VARIABLES_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"
#include "node-agent/go/record/go_bucket.h"

/* MemProfileRate. */
int heap_variables_rate(struct go_runtime *rt, uint64_t *ret) MUST_CHECK;

/* disableMemoryProfiling, the byte that the linker sets; since 1.17. */
int heap_variables_disabled(struct go_runtime *rt, uint64_t *ret) MUST_CHECK;

/*
 * The head of the record list. If nothing else leads to it, data is scanned for a pointer to a
 * record (go_bucket_scan.h), so errors of go_bucket_scan() are possible too.
 */
int heap_variables_buckets(struct go_runtime *rt, const struct go_bucket_format *format,
			   uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_HEAP_HEAP_VARIABLES_H */
