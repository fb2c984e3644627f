/*
 * A program that is compiled with frame pointers uses rbp for nothing else. So wherever one of its
 * functions calls another one, rbp leads to the caller, also in code that control flow does not
 * lead to: cases of switches, functions whose address nothing known has. Where such a function
 * begins and ends, and what it does between its calls, need not be known for that.
 *
 * A program that is compiled without them uses rbp like other registers, in every tenth function
 * or so. Only where no instruction does, and many functions begin by setting it up, they are kept.
 */
#include "node-agent/unwind/code/code_guess.h"

/* Fewer functions say nothing about all. */
#define PROLOGUES_MIN 32u
/* Of so many that set the frame pointer up, one may use it for something else: in assembly. */
#define PROLOGUES_PER_OTHER 64u

static size_t decode(const struct code_flow *f, uint32_t at, struct x86_instruction *i)
{
	return code_flow_decode(f, at, i);
}

/* Whether rbp has another value then than the caller's or a frame's. */
static bool uses_frame_pointer(const struct x86_instruction *i)
{
	switch (i->kind) {
	case X86_POP:
	case X86_LEAVE:
	case X86_CLEAR: /* at the start of a thread */
		return false;
	case X86_MOVE:
		return i->to == X86_RBP && i->from != X86_RSP;
	case X86_LOAD: /* V8 gives a frame up by loading what it has saved */
		return i->to == X86_RBP && (i->base != X86_RBP || i->number != 0);
	case X86_ADDRESS:
	case X86_ADD:
	case X86_AND:
		return i->to == X86_RBP;
	default:
		return i->writes & 1u << X86_RBP;
	}
}

static bool keeps_frame_pointers(const struct code_flow *f)
{
	uint32_t n_prologues = 0, n_others = 0;
	struct x86_instruction i;

	for (uint32_t at = 0; at < f->len; at++) {
		if (f->numbers[at] == CODE_UNREACHED || decode(f, at, &i) == 0)
			continue;
		n_prologues += i.kind == X86_MOVE && i.to == X86_RBP && i.from == X86_RSP;
		n_others += uses_frame_pointer(&i);
	}
	return n_prologues >= PROLOGUES_MIN && n_others <= n_prologues / PROLOGUES_PER_OTHER;
}

/* The state of a function that has set up its frame pointer. */
static struct code_state framed(void)
{
	struct code_state s = code_state_entry;

	s.bp = s.bp_at = (struct code_value){.offset = -16, .base = CODE_CFA};
	s.sp = (struct code_value){.base = CODE_NONE};
	return s;
}

void code_guess_frames(struct code_flow *f)
{
	const struct code_state s = framed();
	struct x86_instruction i;
	uint16_t number;

	if (f->failed || !keeps_frame_pointers(f))
		return;
	number = code_states_number(&f->states, &s);
	for (uint32_t at = 0; at < f->len;) {
		size_t len = decode(f, at, &i);
		bool is_call = i.kind == X86_CALL || i.kind == X86_CALL_INDIRECT;

		if (len > 0 && is_call && f->numbers[at] <= CODE_UNKNOWN)
			f->numbers[at] = number;
		at += len > 0 ? (uint32_t)len : 1;
	}
}
