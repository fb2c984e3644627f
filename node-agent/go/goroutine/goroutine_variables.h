/*
 * Where a Go process has the list of its goroutines, and the texts of what they wait for. One thread.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_VARIABLES_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_VARIABLES_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"

#define GOROUTINE_MAX 1000000u
#define GOROUTINE_REASON_BYTES 64u

/*
 * Addresses of all goroutines that there ever were, for free(3), in order of addresses. Their number is
 * *ret_n. -ENOENT: the list cannot be found; -ENOTSUP: the layout of this release is not known;
 * -EBADMSG: it is no such list; -E2BIG: more than GOROUTINE_MAX; -ENOMEM; those of byte_source_read().
 */
int goroutine_variables_list(struct go_runtime *rt, uint64_t **ret, size_t *ret_n) MUST_CHECK;

/*
 * What a goroutine waits for, by its number there: "chan receive". ret has GOROUTINE_REASON_BYTES. -ENOENT: not known; -ENOMEM; those of
 * byte_source_read().
 */
int goroutine_variables_reason(struct go_runtime *rt, uint8_t reason, char *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_VARIABLES_H */
