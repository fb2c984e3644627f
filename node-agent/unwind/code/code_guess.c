/*
 * Code that nothing leads to is one of three: a function whose address is taken, the cases of a
 * switch, which an indirect jump leads to, or no code. It is tried which state fits: what the first
 * instruction has must lead to returns whose stack pointer is right, and to known code in the
 * state that is known there.
 *
 * A jump table is not read, because no two compilers write it in the same way; the cases of a
 * switch lie after its jump, and have the state of the jump.
 */
#include "node-agent/unwind/code/code_guess.h"

#define TRIAL_STEPS_MAX 20000u
/* Indirect jumps of a function that differ in their state. */
#define JUMPS_MAX 4u
#define ALIGNMENT 16u
#define PROLOGUE_INSTRUCTIONS 6u
#define FIRST_SAVED 12u /* r12 to r15 are saved for callers */
/* Of fewer functions, nothing can be said about all. */
#define STARTS_MIN 8u

struct scan {
	struct code_flow *flow;
	uint16_t jumps
		[JUMPS_MAX]; /* states of indirect jumps in this function, the last one first */
	unsigned n_jumps;
};

enum verdict {
	MISFIT,
	NO_EVIDENCE,
	FITS,
};

static bool is_aligned(const struct code_flow *f, uint32_t at)
{
	return (f->address + at) % ALIGNMENT == 0;
}

static void undo(struct code_flow *f)
{
	for (size_t i = 0; i < f->trial.n; i++) {
		f->numbers[f->trial.written[i]] = CODE_UNREACHED;
		f->flags[f->trial.written[i]] &= (uint8_t)~CODE_BEHIND;
	}
}

static void end_trial(struct code_flow *f)
{
	f->trial.is_on = false;
	for (size_t i = 0; i < f->trial.n; i++)
		f->flags[f->trial.written[i]] &= (uint8_t)~CODE_TRIED;
}

static enum verdict try(struct code_flow *f, uint32_t at, uint16_t number)
{
	struct code_edges later = f->later;
	struct code_trial *t = &f->trial;
	uint64_t left = f->left_steps, most = left < TRIAL_STEPS_MAX ? left : TRIAL_STEPS_MAX;
	bool is_over;

	t->is_on = true;
	t->is_entry = number == CODE_ENTRY;
	t->n = 0;
	t->n_fitting = t->n_misfits = 0;
	f->left_steps = most;
	f->later = t->later;
	code_flow_follow(f, at, number);
	t->later = f->later;
	f->later = later;
	is_over = f->left_steps == 0;
	f->left_steps = left - (most - f->left_steps);
	end_trial(f);
	undo(f);
	if (t->n_misfits > 0 || is_over || f->failed)
		return MISFIT;
	return t->n_fitting > 0 ? FITS : NO_EVIDENCE;
}

/* What was tried is right. */
static void keep(struct code_flow *f, uint32_t at, uint16_t number)
{
	if (number == CODE_ENTRY)
		f->flags[at] |= CODE_LIKELY;
	code_flow_follow(f, at, number);
}

/* Whether the first instructions are like those of a function, of which few save nothing. */
static bool saves_registers(const struct code_flow *f, uint32_t at)
{
	struct x86_instruction i;

	for (unsigned n = 0; n < PROLOGUE_INSTRUCTIONS && at < f->len; n++) {
		size_t len = code_flow_decode(f, at, &i);

		if (len == 0)
			return false;
		if (i.kind == X86_PUSH &&
		    (i.from == X86_RBX || i.from == X86_RBP || i.from >= FIRST_SAVED))
			return true;
		if (i.kind == X86_ADD && i.to == X86_RSP && i.number < 0)
			return true;
		if (i.kind == X86_CALL || i.kind == X86_JUMP || i.kind == X86_RETURN)
			return false;
		at += (uint32_t)len;
	}
	return false;
}

/* Whether nothing but where it lies, and what it is like, speaks for a function. */
static bool is_like_function(const struct code_flow *f, uint32_t at, bool is_padded)
{
	return code_flow_is_taken(f, at) ||
	       (is_padded && is_aligned(f, at) && (at == 0 || saves_registers(f, at)));
}

/* Returns whether a state was found for the instruction. */
static bool guess_at(struct scan *s, uint32_t at, bool is_padded)
{
	struct code_flow *f = s->flow;
	uint16_t last = s->n_jumps > 0 ? s->jumps[0] : CODE_ENTRY;

	for (unsigned i = 0; i <= s->n_jumps; i++) {
		uint16_t number = i < s->n_jumps ? s->jumps[i] : CODE_ENTRY;
		enum verdict v = MISFIT;

		if (i < s->n_jumps || !f->is_aligned || is_aligned(f, at) ||
		    code_flow_is_taken(f, at))
			v = try(f, at, number);

		if (v == NO_EVIDENCE && number == CODE_ENTRY && last == CODE_ENTRY &&
		    is_like_function(f, at, is_padded))
			v = FITS;
		if (v == FITS) {
			keep(f, at, number);
			return true;
		}
	}
	return false;
}

static void note_jump(struct scan *s, uint16_t number)
{
	unsigned i = 0;

	if (number == CODE_END || code_state_is_callers(&s->flow->states.states[number]))
		return; /* of another function */
	while (i < s->n_jumps && s->jumps[i] != number)
		i++;
	if (i == s->n_jumps && s->n_jumps < JUMPS_MAX)
		s->n_jumps++;
	if (i == JUMPS_MAX)
		i--;
	for (; i > 0; i--)
		s->jumps[i] = s->jumps[i - 1];
	s->jumps[0] = number;
}

/* An instruction that is reached. Returns where the next one begins. */
static uint32_t pass(struct scan *s, uint32_t at)
{
	struct code_flow *f = s->flow;
	struct x86_instruction i;
	size_t len = code_flow_decode(f, at, &i);

	if (code_flow_is_start(f, at))
		s->n_jumps = 0;
	if (len == 0)
		return at + 1;
	if (i.kind == X86_JUMP_INDIRECT)
		note_jump(s, f->numbers[at]);
	return at + (uint32_t)len;
}

static bool ends(const struct x86_instruction *i)
{
	return i->kind == X86_RETURN || i->kind == X86_JUMP || i->kind == X86_JUMP_INDIRECT ||
	       i->kind == X86_TRAP;
}

/* Behind the instruction that ends this way, or before one that is reached. */
static uint32_t skip_unknown(const struct code_flow *f, uint32_t at)
{
	struct x86_instruction i = {.kind = X86_OTHER};

	while (at < f->len && f->numbers[at] == CODE_UNREACHED && !ends(&i)) {
		size_t len = code_flow_decode(f, at, &i);

		at += len > 0 ? (uint32_t)len : 1;
	}
	return at;
}

/*
 * A call before padding, and then code at the address of a function, may be the end of one that
 * does not return, or be before a loop. It returns unless that does not fit.
 */
bool code_guess_returns(struct code_flow *f, uint32_t next, uint16_t number)
{
	uint32_t at = code_flow_skip_padding(f, next);
	enum verdict v;

	code_flow_count_steps(f, at - next);
	if (!f->is_aligned || !is_aligned(f, at) || at >= f->len ||
	    f->numbers[at] != CODE_UNREACHED || code_flow_is_start(f, at))
		return true;
	if (f->trial.is_on)
		return at == next;
	v = try(f, at, number);
	return v != MISFIT;
}

bool code_guess_is_aligned(const struct code_flow *f)
{
	uint32_t n = 0, n_aligned = 0;

	for (uint32_t at = 0; at < f->len; at++) {
		if (code_flow_is_start(f, at)) {
			n++;
			n_aligned += is_aligned(f, at);
		}
	}
	return n >= STARTS_MIN && n_aligned >= n - n / 16;
}

void code_guess(struct code_flow *f)
{
	struct scan s = {.flow = f};
	uint32_t at = 0;

	while (at < f->len && f->left_steps > 0 && !f->failed) {
		uint32_t code;

		if (f->numbers[at] != CODE_UNREACHED) {
			at = pass(&s, at);
			continue;
		}
		code = code_flow_skip_padding(f, at);
		if (code < f->len && f->numbers[code] == CODE_UNREACHED &&
		    !guess_at(&s, code, code > at || at == 0))
			code = skip_unknown(f, code);
		at = code;
	}
}
