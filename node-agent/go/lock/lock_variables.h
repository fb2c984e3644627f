/*
 * The variables of Go's mutex and block profilers in a process. Addresses are the process's.
 *
 * In code: stkbucket puts a new record in front of the list of memory, of mutexes or of blocks, mostly in
 * this order; the functions that record an event load their rate first, and semacquire1 looks at both (1.13 to
 * 1.27).
 */
#ifndef NODE_AGENT_GO_LOCK_LOCK_VARIABLES_H
#define NODE_AGENT_GO_LOCK_LOCK_VARIABLES_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"
#include "node-agent/go/lock/lock_kind.h"

/* Results of go_runtime_find(), also of the memory profiler's list. */
int lock_variables_rate(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret) MUST_CHECK;

/* The list. What it leads to proves by its hashes and types that it is the right one. */
int lock_variables_buckets(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_LOCK_LOCK_VARIABLES_H */
