/* The state of goroutines in words, such as "[chan receive]". For one thread. */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_NAMES_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_NAMES_H

#include "common/base.h"
#include "node-agent/go/goroutine/goroutine_groups.h"
#include "node-agent/go/goroutine/goroutine_variables.h"

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

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_NAMES_H */
