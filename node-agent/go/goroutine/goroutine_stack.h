/*
 * Unwinds the copied stack of a goroutine. Pure.
 *
 * The limit of frames is GOROUTINE_STACK_DEPTH_MAX. runtime/pprof shows fewer: 32 frames,
 * since 1.23 profstackdepth (GODEBUG; 128 by default), inlined ones among them, plus what the
 * last one is inlined into. We have the whole stack anyway, and whoever wants to know where a
 * goroutine comes from needs the end that runtime/pprof cuts off.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_STACK_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_STACK_H

#include "common/base.h"

#define GOROUTINE_STACK_DEPTH_MAX 1024u /* not counting frames inlined into others */

enum stack_frame_kind {
	STACK_FRAME_PLAIN,
	STACK_FRAME_TOP,      /* the outermost function: nothing called it */
	STACK_FRAME_INJECTED, /* not called, but injected by a signal that interrupted the caller */
	STACK_FRAME_SP_WRITE, /* switches stacks; its caller can be found only in system calls */
};

struct stack_frame {
	uint64_t start; /* of the function */
	int32_t bytes;  /* that it has pushed at this instruction; -1 if unknown */
	enum stack_frame_kind kind;
};

struct goroutine_stack {
	uint64_t sp; /* address of the first byte that was copied */
	uint64_t pc;
	uint64_t lr;
	bool in_syscall;
	bool has_lr;          /* calls store the return address in a link register (arm64) */
	uint64_t hi;          /* the end of the stack */
	const uint8_t *bytes; /* borrowed; the copy, from sp on */
	size_t n_bytes;
	/* Finds the function at pc. Returns 0, or -ENOENT if there is none; others end the walk. */
	int (*find)(void *ctx, uint64_t pc, struct stack_frame *ret);
	void *ctx;
};

enum goroutine_stack_end {
	GOROUTINE_STACK_WHOLE,
	GOROUTINE_STACK_CUT,    /* too many frames, or more bytes than were copied */
	GOROUTINE_STACK_BROKEN, /* a frame that cannot be unwound */
};

struct goroutine_calls {
	uint64_t pcs[GOROUTINE_STACK_DEPTH_MAX]; /* leaf first; return addresses, or pc + 1 */
	size_t n;
	enum goroutine_stack_end end;
};

/* Returns 0, however the stack ends, or the error of `find`. */
int goroutine_stack_walk(const struct goroutine_stack *s, struct goroutine_calls *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_STACK_H */
