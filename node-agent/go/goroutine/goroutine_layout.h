/*
 * What is read of a runtime.g, and where that lies in each release of Go. Pure.
 *
 * The offsets are those that the compilers' debug information says (struct g in
 * runtime/runtime2.go); amd64 and arm64 have the same.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_LAYOUT_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_LAYOUT_H

#include "common/base.h"

#define GOROUTINE_MAX_BYTES 320u /* as far as it is read */
#define GOROUTINE_STACK_MAX_BYTES (UINT64_C(1) << 31)

enum goroutine_status {
	GOROUTINE_IDLE = 0,
	GOROUTINE_RUNNABLE = 1,
	GOROUTINE_RUNNING = 2,
	GOROUTINE_SYSCALL = 3,
	GOROUTINE_WAITING = 4,
	GOROUTINE_DEAD = 6,
	GOROUTINE_COPYSTACK = 8,
	GOROUTINE_PREEMPTED = 9,
	GOROUTINE_LEAKED = 10,     /* since 1.26 */
	GOROUTINE_DEAD_EXTRA = 11, /* since 1.26 */
	GOROUTINE_STATUS_MAX,
};

struct goroutine_layout {
	uint16_t lr;
	uint16_t syscall_sp;
	uint16_t status;
	uint16_t id;
	uint16_t wait_since;
	uint16_t wait_reason;
	uint16_t start_pc;
	uint16_t size_bytes; /* of what is read: at most GOROUTINE_MAX_BYTES */
};

struct goroutine {
	uint64_t stack_lo;
	uint64_t stack_hi;
	uint64_t sp; /* where it stopped, or entered a system call */
	uint64_t pc;
	uint64_t lr; /* 0 on amd64 */
	uint64_t id;
	uint64_t start_pc;
	uint64_t wait_since_ns; /* on the machine's monotonic clock; 0: not known */
	uint8_t status;         /* enum goroutine_status */
	uint8_t wait_reason;    /* while it waits */
	bool in_syscall;        /* sp and pc are those of the call */
};

/* Of the release 1.minor. -ENOTSUP: not known. */
int goroutine_layout_find(unsigned minor, const struct goroutine_layout **ret) MUST_CHECK;

/* l->size_bytes at bytes. -EBADMSG: not a goroutine. */
int goroutine_decode(const struct goroutine_layout *l, const uint8_t *bytes,
		     struct goroutine *ret) MUST_CHECK;

/* Whether there is nothing in it now: on a list of free ones. */
static inline bool goroutine_is_dead(const struct goroutine *g)
{
	return g->status == GOROUTINE_IDLE || g->status == GOROUTINE_DEAD ||
	       g->status == GOROUTINE_DEAD_EXTRA;
}

/* Whether it has not moved from one reading to the other. */
bool goroutine_is_same(const struct goroutine *a, const struct goroutine *b);

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_LAYOUT_H */
