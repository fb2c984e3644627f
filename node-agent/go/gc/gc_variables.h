/*
 * Addresses of the variables of Go's allocator and garbage collector in a process.
 *
 * Each function returns 0, an error of go_runtime_find(), or -EAGAIN if the variable cannot be
 * identified at the moment but perhaps in a later round.
 */
#ifndef NODE_AGENT_GO_GC_GC_VARIABLES_H
#define NODE_AGENT_GO_GC_GC_VARIABLES_H

#include "common/base.h"
#include "node-agent/go/gc/gc_layout.h"
#include "node-agent/go/image/go_runtime.h"

/* runtime.memstats. */
int gc_variables_memstats(struct go_runtime *rt, uint64_t *ret) MUST_CHECK;

/* runtime.gcController; before 1.17 runtime.memstats. */
int gc_variables_pacer(struct go_runtime *rt, const struct gc_layout *l, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GC_GC_VARIABLES_H */
