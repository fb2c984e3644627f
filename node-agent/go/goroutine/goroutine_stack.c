/*
 * As the runtime's own tracebacks do (unwinder in runtime/traceback.go, gentraceback before
 * 1.21), the size of the current function's frame at the current pc, which the pclntab has,
 * leads to the return address, and that to the next frame. Frame pointers would be simpler,
 * but the leaf may not have set its own up yet, and older releases for arm64 have none.
 *
 * Special cases:
 * - A return address may lie in the next line or even function, so callers look up pc - 1.
 *   Where pc is exact (interrupted by a signal) or the start of a function (never called), pc
 *   + 1 is stored, so that the same subtraction works for all.
 * - A signal handler (sigpanic, asyncPreempt) makes it look as if the interrupted function
 *   had called it. On arm64 it also pushes the link register, which may or may not be the
 *   return address.
 * - A nil function that was called has pushed only its return address.
 *
 * The copy may hold anything: each word is bounds-checked, and the number of frames is limited.
 */
#include "node-agent/go/goroutine/goroutine_stack.h"

#include <errno.h>

#define WORD_BYTES 8u
#define INJECTED_FRAME_BYTES 16u /* that a signal handler on arm64 pushes to save lr */

struct walk {
	const struct goroutine_stack *stack;
	struct goroutine_calls *calls;
	uint64_t sp, pc, lr;
	bool exact; /* pc is an interrupted instruction, not a return address */
	bool first; /* at the leaf */
};

/* Reads a word of the copy. False if it is not there; calls->end then says why. */
static bool word_at(struct walk *w, uint64_t address, uint64_t *ret)
{
	const struct goroutine_stack *s = w->stack;
	uint64_t offset = address - s->sp;

	if (address < s->sp || offset > s->n_bytes || s->n_bytes - offset < WORD_BYTES) {
		bool beyond = address < s->sp || address >= s->hi || s->hi - address < WORD_BYTES;

		w->calls->end = beyond ? GOROUTINE_STACK_BROKEN : GOROUTINE_STACK_CUT;
		return false;
	}
	memcpy(ret, s->bytes + offset, sizeof(*ret));
	return true;
}

/* Reads the return address of the current frame, which ends at frame_end. */
static bool read_return(struct walk *w, uint64_t frame_end, uint64_t *ret)
{
	if (!w->stack->has_lr)
		return word_at(w, frame_end - WORD_BYTES, ret);
	/* a function saves lr at the bottom of its frame when it sets the frame up */
	if ((w->first && w->sp < frame_end) || w->lr == 0)
		return word_at(w, w->sp, ret);
	*ret = w->lr;
	return true;
}

/*
 * arm64: removes what the signal handler pushed, and restores the interrupted function's lr
 * from it.
 */
static int skip_injected(struct walk *w, bool *more)
{
	struct stack_frame f;
	uint64_t saved = 0;
	int r;

	*more = word_at(w, w->sp, &saved);
	if (!*more)
		return 0;
	w->sp += INJECTED_FRAME_BYTES;
	r = w->stack->find(w->stack->ctx, w->pc, &f);
	if (r == -ENOENT)
		w->pc = saved;
	else if (r == 0 && f.bytes == 0)
		w->lr = saved;
	return r == -ENOENT ? 0 : r;
}

/* Adds the current frame, and moves to its caller's. *more is false at the end of the stack. */
static int step(struct walk *w, bool *more)
{
	struct goroutine_calls *c = w->calls;
	uint64_t frame_end, caller = 0;
	struct stack_frame f;
	int r = w->stack->find(w->stack->ctx, w->pc, &f);

	*more = false;
	c->end = GOROUTINE_STACK_BROKEN;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (c->n == GOROUTINE_STACK_DEPTH_MAX) {
		c->end = GOROUTINE_STACK_CUT;
		return 0;
	}
	c->pcs[c->n++] = w->exact || w->pc == f.start ? w->pc + 1 : w->pc;
	if (f.kind == STACK_FRAME_TOP)
		c->end = GOROUTINE_STACK_WHOLE;
	if (f.kind == STACK_FRAME_TOP || f.bytes < 0 ||
	    (f.kind == STACK_FRAME_SP_WRITE && !(w->first && w->stack->in_syscall)))
		return 0;
	frame_end = w->sp + (uint32_t)f.bytes + (w->stack->has_lr ? 0 : WORD_BYTES);
	if (!read_return(w, frame_end, &caller) || caller == 0)
		return 0;
	w->first = false;
	w->exact = f.kind == STACK_FRAME_INJECTED;
	w->pc = caller;
	w->lr = 0;
	w->sp = frame_end;
	*more = true;
	return w->exact && w->stack->has_lr ? skip_injected(w, more) : 0;
}

int goroutine_stack_walk(const struct goroutine_stack *s, struct goroutine_calls *ret)
{
	struct walk w = {
		.stack = s,
		.calls = ret,
		.sp = s->sp,
		.pc = s->pc,
		.lr = s->has_lr ? s->lr : 0,
		.first = true,
	};
	bool more = true;
	int r = 0;

	ret->n = 0;
	ret->end = GOROUTINE_STACK_BROKEN;
	/* a nil function was called: all it has is a return address */
	if (w.pc == 0) {
		more = word_at(&w, w.sp, &w.pc);
		w.sp += s->has_lr ? 0 : WORD_BYTES;
		w.lr = 0;
	}
	while (r == 0 && more)
		r = step(&w, &more);
	return r;
}
