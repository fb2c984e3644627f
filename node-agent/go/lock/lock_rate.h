/*
 * The rates of Go's mutex and block profilers in a process: read, switched on, switched back.
 *
 * Both are looked at by the runtime at each wait (runtime/mprof.go, sema.go, chan.go, select.go; 1.13 to 1.27), so a
 * rate is in force at once. Only 0 is changed, and only our own values are set back to 0: a program
 * that has chosen a rate keeps it.
 */
#ifndef NODE_AGENT_GO_LOCK_LOCK_RATE_H
#define NODE_AGENT_GO_LOCK_LOCK_RATE_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"
#include "node-agent/go/lock/lock_kind.h"

#define LOCK_RATE_MUTEX \
	UINT64_C(113) /* one of as many events; not a number that a program would choose */
#define LOCK_RATE_BLOCK \
	UINT64_C(0x2000000) /* ticks: each wait that is longer, shorter ones by chance */

enum lock_rate_wish {
	LOCK_RATE_ON,
	LOCK_RATE_OFF,
};

/* Ours. */
uint64_t lock_rate_value(enum lock_kind kind);

/* 0: the profiler is off. Results of go_runtime_find(). */
int lock_rate_read(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret) MUST_CHECK;

/*
 * 1: written; 0: it is so already; -EALREADY: the program has chosen another; others of go_runtime_find() and
 * go_write_word().
 */
int lock_rate_switch(struct go_runtime *rt, const struct program_id *id, enum lock_kind kind,
		     enum lock_rate_wish wish) MUST_CHECK;

#endif /* NODE_AGENT_GO_LOCK_LOCK_RATE_H */
