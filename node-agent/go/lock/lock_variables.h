/*
 * The variables of Go's mutex and block profilers in a process: their addresses, and their rates.
 *
 * Functions return 0 or an error of go_runtime_find(), or of heap_variables_buckets(), unless their
 * comments say otherwise.
 */
#ifndef NODE_AGENT_GO_LOCK_LOCK_VARIABLES_H
#define NODE_AGENT_GO_LOCK_LOCK_VARIABLES_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"

/* The two profilers. */
enum lock_kind {
	LOCK_MUTEX, /* who makes others wait: recorded where a contended lock is released */
	LOCK_BLOCK, /* who waits: for locks, channels, select, … */
	LOCK_KINDS,
};

/* blockprofilerate or mutexprofilerate. */
int lock_variables_rate(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret) MUST_CHECK;

/*
 * The head of the record list. The result is a best guess: that it is the right list is
 * proved only by the hash and type of the records it leads to.
 */
int lock_variables_buckets(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret) MUST_CHECK;

/*
 * The rates: read, switched on and off again.
 *
 * The runtime checks the rate at each wait (runtime/mprof.go, sema.go, chan.go, select.go;
 * 1.13 to 1.27), so a new rate takes effect at once. Only 0 is changed, and only our own
 * values are reset to 0: a program that chose a rate keeps it. The values are unusual enough
 * to recognise as ours, by an agent that was restarted as well.
 */

/* One of 113 events is sampled. A prime that a program would hardly choose. */
#define LOCK_RATE_MUTEX UINT64_C(113)
/* In ticks: every longer wait is sampled, and shorter ones with a probability of their length. */
#define LOCK_RATE_BLOCK UINT64_C(0x2000000)

enum lock_rate_wish {
	LOCK_RATE_ON,
	LOCK_RATE_OFF,
};

/* The rate that we set. */
uint64_t lock_rate_value(enum lock_kind kind);

/* *ret is 0 if the profiler is off. Returns 0, or an error of go_runtime_find(). */
int lock_rate_read(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret) MUST_CHECK;

/*
 * Returns 1 if the rate was written, 0 if it had that value already, -EALREADY if the program
 * chose another one, or an error of go_runtime_find() or go_write_word().
 */
int lock_rate_switch(struct go_runtime *rt, const struct program_id *id, enum lock_kind kind,
		     enum lock_rate_wish wish) MUST_CHECK;

#endif /* NODE_AGENT_GO_LOCK_LOCK_VARIABLES_H */
