/* Groups of goroutines as text for humans. */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_TEXT_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_TEXT_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/go/goroutine/goroutine_groups.h"
#include "node-agent/go/goroutine/goroutine_variables.h"

/* The state of goroutines in words, such as "[chan receive]". For one thread. */

struct goroutine_names {
	struct go_runtime *rt; /* borrowed */
	char reasons[256][GOROUTINE_REASON_BYTES + 2];
};

void goroutine_names_init(struct goroutine_names *n, struct go_runtime *rt);

/*
 * The wait reason if there is one and its text can be found, else the status; in brackets.
 * *ret is valid as long as n. Returns 0, -ENOMEM, or an error of byte_source_read().
 */
int goroutine_names_reason(struct goroutine_names *n, const struct goroutine_place *place,
			   const char **ret) MUST_CHECK;

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
