/*
 * Addresses of the variables of Go's mutex and block profilers in a process.
 *
 * Each function returns 0 or an error of go_runtime_find(), or of heap_variables_buckets().
 */
#ifndef NODE_AGENT_GO_LOCK_LOCK_VARIABLES_H
#define NODE_AGENT_GO_LOCK_LOCK_VARIABLES_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"
#include "node-agent/go/lock/lock_kind.h"

/* blockprofilerate or mutexprofilerate. */
int lock_variables_rate(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret) MUST_CHECK;

/*
 * The head of the record list. The result is a best guess: that it is the right list is
 * proved only by the hash and type of the records it leads to.
 */
int lock_variables_buckets(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_LOCK_LOCK_VARIABLES_H */
