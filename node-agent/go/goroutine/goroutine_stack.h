/*
 * The calls on the copied stack of a goroutine. Pure.
 *
 * As the runtime's own tracebacks (unwinder in runtime/traceback.go, gentraceback before 1.21): the
 * size of a function's frame at an instruction leads to the frame around it. The copy may
 * hold anything: each word is looked for within it, and there is a maximum of frames.
 *
 * It is the maximum here, not that of runtime/pprof: that shows 32 frames (since 1.23 profstackdepth of GODEBUG,
 * which is 128 unless told), inlined ones among them, and what the last one is inlined into. The stack is there as a whole, and who wants
 * to know where a goroutine comes from needs the other end of it.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_STACK_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_STACK_H

#include "common/base.h"

#define GOROUTINE_STACK_DEPTH_MAX 1024u /* each with what is inlined into it */

enum stack_frame_kind {
	STACK_FRAME_PLAIN,
	STACK_FRAME_TOP,      /* nothing called it */
	STACK_FRAME_INJECTED, /* no call: what is around was interrupted by a signal */
	STACK_FRAME_SP_WRITE, /* what is around it cannot be found, but in system calls */
};

struct stack_frame {
	uint64_t start; /* of the function */
	int32_t bytes;  /* that it has pushed; -1: unknown */
	enum stack_frame_kind kind;
};

struct goroutine_stack {
	uint64_t sp; /* at least the first byte's address */
	uint64_t pc;
	uint64_t lr;
	bool in_syscall;
	bool has_lr;          /* the machine calls by a link register: arm64 */
	uint64_t hi;          /* the end of the stack */
	const uint8_t *bytes; /* borrowed: of sp and behind it */
	size_t n_bytes;
	/* The function that has pc, before that instruction. 0; -ENOENT: none; others end the walk. */
	int (*find)(void *ctx, uint64_t pc, struct stack_frame *ret);
	void *ctx;
};

enum goroutine_stack_end {
	GOROUTINE_STACK_WHOLE,
	GOROUTINE_STACK_CUT, /* there are more frames, or more bytes than were copied */
	GOROUTINE_STACK_BROKEN,
};

struct goroutine_calls {
	uint64_t pcs[GOROUTINE_STACK_DEPTH_MAX]; /* leaf first; return addresses, or one behind */
	size_t n;
	enum goroutine_stack_end end;
};

/* 0, whatever the stack is like; what find returned. */
int goroutine_stack_walk(const struct goroutine_stack *s, struct goroutine_calls *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_STACK_H */
