/* Groups of goroutines as text for humans. */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_TEXT_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_TEXT_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/go/goroutine/goroutine_names.h"

/*
 * Appends a paragraph per group: the number of goroutines, their state, for how long one of
 * them has waited at least (the runtime only knows since when its garbage collector has seen
 * it waiting), the id of that one, and the calls. now_ns is on the clock of wait_since_ns.
 * Returns 0, -ENOMEM, or an error of buf_add(), goroutine_names_reason() or
 * frame_resolver.resolve.
 */
int goroutine_text_append(struct buf *out, struct goroutine_names *names,
			  const struct frame_resolver *resolver,
			  const struct goroutine_group *const *groups, size_t n,
			  uint64_t now_ns) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_TEXT_H */
