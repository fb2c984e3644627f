/*
 * Groups of goroutines as text for people.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_TEXT_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_TEXT_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/go/goroutine/goroutine_names.h"

/*
 * A paragraph for each group: how many, what they do, for how long the first of them has waited as far as the
 * runtime knows (its garbage collector notes when it first sees that), which that is, and the calls. now_ns is on
 * the clock of wait_since_ns. 0; errors of buf_add(), goroutine_names_reason() and frame_resolver.resolve; -ENOMEM.
 */
int goroutine_text_append(struct buf *out, struct goroutine_names *names,
			  const struct frame_resolver *resolver,
			  const struct goroutine_group *const *groups, size_t n,
			  uint64_t now_ns) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_TEXT_H */
