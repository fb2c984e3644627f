/*
 * The variables of Go's memory manager in a process. Addresses are the process's.
 *
 * In code: stkbucket passes the address of memstats.buckhash_sys to the allocator, gcStart the one of gcController to a
 * method. What is found that way is the one address that gc_counters.h accepts.
 */
#ifndef NODE_AGENT_GO_GC_GC_VARIABLES_H
#define NODE_AGENT_GO_GC_GC_VARIABLES_H

#include "common/base.h"
#include "node-agent/go/gc/gc_layout.h"
#include "node-agent/go/image/go_runtime.h"

/* Results of go_runtime_find(); -EAGAIN: not now, perhaps in the next round. */
int gc_variables_memstats(struct go_runtime *rt, uint64_t *ret) MUST_CHECK;
/* runtime.memstats before 1.17. */
int gc_variables_pacer(struct go_runtime *rt, const struct gc_layout *l, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GC_GC_VARIABLES_H */
