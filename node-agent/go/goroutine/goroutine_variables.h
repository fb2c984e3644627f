/* Finds the list of goroutines and the texts of wait reasons in a Go process. For one thread. */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_VARIABLES_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_VARIABLES_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"

#define GOROUTINE_MAX 1000000u
#define GOROUTINE_REASON_BYTES 64u

/*
 * The addresses of all *ret_n runtime.g, in ascending order, dead ones among them: the
 * runtime never frees one. The caller frees the array with free(3). Returns 0, -ENOENT if the
 * list cannot be found, -ENOTSUP if the release is unknown, -EBADMSG if what was found is not
 * the list, -E2BIG if there are more than GOROUTINE_MAX, -ENOMEM, or an error of
 * byte_source_read().
 */
int goroutine_variables_list(struct go_runtime *rt, uint64_t **ret, size_t *ret_n) MUST_CHECK;

/*
 * The text of a wait reason (waitReason in runtime/runtime2.go) in this process, such as
 * "chan receive". `ret` has room for GOROUTINE_REASON_BYTES. Returns 0, -ENOENT if it has no
 * text, -ENOMEM, or an error of byte_source_read().
 */
int goroutine_variables_reason(struct go_runtime *rt, uint8_t reason, char *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_VARIABLES_H */
