#include "node-agent/go/goroutine/goroutine_stack.h"

#include <errno.h>

#define WORD_BYTES 8u
#define INJECTED_FRAME_BYTES 16u /* where a signal handler of arm64 saves the link register */

struct walk {
	const struct goroutine_stack *stack;
	struct goroutine_calls *calls;
	uint64_t sp, pc, lr;
	bool exact; /* pc is an instruction that was interrupted, not one behind a call */
	bool first;
};

/* The word at an address of the copy. False: it is not there, and the walk's end is set. */
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

/* Of the frame around one that ends at frame_end. */
static bool read_return(struct walk *w, uint64_t frame_end, uint64_t *ret)
{
	if (!w->stack->has_lr)
		return word_at(w, frame_end - WORD_BYTES, ret);
	/* a function that has pushed something has saved the register first */
	if ((w->first && w->sp < frame_end) || w->lr == 0)
		return word_at(w, w->sp, ret);
	*ret = w->lr;
	return true;
}

/* The handler of a signal has saved the register, and made it look as if its function was called. */
static int skip_injected(struct walk *w, bool *go_on)
{
	struct stack_frame f;
	uint64_t saved = 0;
	int r;

	*go_on = word_at(w, w->sp, &saved);
	if (!*go_on)
		return 0;
	w->sp += INJECTED_FRAME_BYTES;
	r = w->stack->find(w->stack->ctx, w->pc, &f);
	if (r == -ENOENT)
		w->pc = saved;
	else if (r == 0 && f.bytes == 0)
		w->lr = saved;
	return r == -ENOENT ? 0 : r;
}

/* Adds one frame, and moves to the one around it. */
static int step(struct walk *w, bool *go_on)
{
	struct goroutine_calls *c = w->calls;
	uint64_t frame_end, caller = 0;
	struct stack_frame f;
	int r = w->stack->find(w->stack->ctx, w->pc, &f);

	*go_on = false;
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
	*go_on = true;
	return w->exact && w->stack->has_lr ? skip_injected(w, go_on) : 0;
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
	bool go_on = true;
	int r = 0;

	ret->n = 0;
	ret->end = GOROUTINE_STACK_BROKEN;
	/* a call of a nil function: it has pushed its return address, and that is all */
	if (w.pc == 0) {
		go_on = word_at(&w, w.sp, &w.pc);
		w.sp += s->has_lr ? 0 : WORD_BYTES;
		w.lr = 0;
	}
	while (r == 0 && go_on)
		r = step(&w, &go_on);
	return r;
}
