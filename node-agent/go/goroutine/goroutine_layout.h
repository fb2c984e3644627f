/*
 * Decodes the part of a runtime.g that we use, whose offsets depend on the release. Pure.
 *
 * The offsets were taken from the compilers' debug information (struct g in
 * runtime/runtime2.go); they are the same on amd64 and arm64.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_LAYOUT_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_LAYOUT_H

#include "common/base.h"

#define GOROUTINE_MAX_BYTES 320u /* of a runtime.g that are read */
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
	uint16_t size_bytes; /* of the part that is read; at most GOROUTINE_MAX_BYTES */
};

struct goroutine {
	uint64_t stack_lo;
	uint64_t stack_hi;
	uint64_t sp; /* where it was last descheduled, or entered a system call */
	uint64_t pc;
	uint64_t lr; /* 0 on amd64 */
	uint64_t id;
	uint64_t start_pc;
	uint64_t wait_since_ns; /* on the process's CLOCK_MONOTONIC; 0 if unknown */
	uint8_t status;         /* enum goroutine_status */
	uint8_t wait_reason;    /* 0 unless it waits */
	bool in_syscall;        /* sp and pc are those of the system call's entry */
};

/* The layout of release 1.minor. Returns 0, or -ENOTSUP if the release is unknown. */
int goroutine_layout_find(unsigned minor, const struct goroutine_layout **ret) MUST_CHECK;

/* `bytes` has l->size_bytes. Returns 0, or -EBADMSG if they are not a goroutine's. */
int goroutine_decode(const struct goroutine_layout *l, const uint8_t *bytes,
		     struct goroutine *ret) MUST_CHECK;

/* Whether no goroutine uses this runtime.g at the moment: it is on a free list. */
static inline bool goroutine_is_dead(const struct goroutine *g)
{
	return g->status == GOROUTINE_IDLE || g->status == GOROUTINE_DEAD ||
	       g->status == GOROUTINE_DEAD_EXTRA;
}

/* Whether a goroutine did not move between two readings of it. */
bool goroutine_is_same(const struct goroutine *a, const struct goroutine *b);

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_LAYOUT_H */
