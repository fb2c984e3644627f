/*
 * Code without call frame information is read as a CPU would execute it: from the first
 * instruction of a function, whose state is known, along jumps and branches. Where ways meet, what
 * they agree about is known.
 *
 * Two things are not written in the code. Whether a call returns: a compiler puts anything after
 * a call of exit() or abort(). So code after calls is followed last, and where a branch leads there
 * with another state, that call does not return; there is another round then (run_rounds() in
 * code_rules.c), which knows it. And where functions begin: symbols and calls say so. The parts of
 * functions that compilers move away as rarely executed have symbols, too, but jumps lead to them
 * from the middle of a function; then they begin none, which the next round knows.
 *
 * A function that clears rbp, which it must preserve, and calls what it has got in a register, is
 * the outermost one of a thread: so begins what clone() starts.
 *
 * An instruction is looked at many times: in each round, by each way that leads to it, and by those
 * who look for starts and ends of functions. Decoding it took half of the time. So of pieces that
 * are small enough to be no burden, what is decoded is kept: those of files whose code is analysed
 * where samples come, of which somebody waits for the result.
 *
 * A function's first instruction has the state that every function begins with, whatever falls or
 * jumps into it: what does is a tail call, or a way that is never taken.
 */
#include "node-agent/unwind/code/code_flow.h"

#include <errno.h>

#include "common/data/array.h"

/* Instructions that are looked at, per byte of code, in all rounds. */
#define STEPS_PER_BYTE 24u
#define STEPS_MIN 100000u
/* Ways that are still to be followed: 2 MiB. */
#define EDGES_MAX 262144u
/* Pieces whose instructions are kept, in 2.3 MiB. */
#define DECODED_MAX_BYTES (192u << 10)
/* From where the outermost function clears rbp to its call. */
#define OUTERMOST_INSTRUCTIONS 4u

static void free_edges(struct code_edges *e)
{
	free(e->items);
}

int code_flow_new(struct code_flow **ret)
{
	struct code_flow *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->numbers = calloc(CODE_FLOW_MAX_BYTES, sizeof(*f->numbers));
	f->flags = calloc(CODE_FLOW_MAX_BYTES, sizeof(*f->flags));
	f->taken = calloc(CODE_FLOW_MAX_BYTES / 8, sizeof(*f->taken));
	f->room = calloc(DECODED_MAX_BYTES, sizeof(*f->room));
	if (!f->numbers || !f->flags || !f->taken || !f->room) {
		code_flow_free(f);
		return -ENOMEM;
	}
	*ret = f;
	return 0;
}

void code_flow_free(struct code_flow *f)
{
	if (!f)
		return;
	free_edges(&f->now);
	free_edges(&f->later);
	free_edges(&f->trial.later);
	free(f->trial.written);
	free(f->arrivals);
	free(f->room);
	free(f->numbers);
	free(f->flags);
	free(f->taken);
	free(f);
}

void code_flow_begin(struct code_flow *f, const uint8_t *code, uint32_t len, uint64_t address)
{
	f->code = code;
	f->len = len;
	f->address = address;
	f->n_arrivals = 0;
	f->left_steps = (uint64_t)len * STEPS_PER_BYTE + STEPS_MIN;
	f->decoded = len <= DECODED_MAX_BYTES ? f->room : NULL;
	if (f->decoded)
		memset(f->decoded, 0, len * sizeof(*f->decoded));
	memset(f->flags, 0, len * sizeof(*f->flags));
	memset(f->taken, 0, ((size_t)len + 7) / 8);
}

void code_flow_add_start(struct code_flow *f, uint32_t at, enum code_flag flag)
{
	if (at < f->len)
		f->flags[at] |= (uint8_t)flag;
}

void code_flow_add_taken(struct code_flow *f, uint32_t at)
{
	if (at < f->len)
		f->taken[at / 8] |= (uint8_t)(1u << at % 8);
}

bool code_flow_is_taken(const struct code_flow *f, uint32_t at)
{
	return f->taken[at / 8] >> at % 8 & 1;
}

void code_flow_add_arrival(struct code_flow *f, uint32_t at, const struct code_state *s)
{
	/* without memory there is one way less */
	if (at >= f->len || ARRAY_RESERVE(f->arrivals, f->max_arrivals, f->n_arrivals + 1) < 0)
		return;
	f->arrivals[f->n_arrivals++] = (struct code_arrival){.at = at, .state = *s};
}

size_t code_flow_decode(const struct code_flow *f, uint32_t at, struct x86_instruction *ret)
{
	size_t len;

	if (f->decoded && f->decoded[at].len > 0) {
		*ret = f->decoded[at];
		return ret->len;
	}
	len = x86_decode(ret, f->code + at, f->len - at);
	if (f->decoded && len > 0)
		f->decoded[at] = *ret;
	return len;
}

bool code_flow_is_start(const struct code_flow *f, uint32_t at)
{
	uint8_t flags = f->flags[at];

	return flags & CODE_CALLED || (flags & CODE_LIKELY && !(flags & CODE_NO_START));
}

uint32_t code_flow_skip_padding(const struct code_flow *f, uint32_t at)
{
	struct x86_instruction i;

	while (at < f->len && f->numbers[at] == CODE_UNREACHED) {
		size_t len = code_flow_decode(f, at, &i);

		if (len == 0 || (i.kind != X86_PADDING && f->code[at] != 0xcc))
			break;
		at += (uint32_t)len;
	}
	return at;
}

void code_flow_count_steps(struct code_flow *f, uint32_t n)
{
	f->left_steps -= n < f->left_steps ? n : f->left_steps;
}

/* ---- edges ---- */

static bool reserve(struct code_flow *f, struct code_edges *e)
{
	if (e->n == EDGES_MAX) {
		f->left_steps = 0; /* no program has so many; the rest is not known */
		return false;
	}
	f->failed |= ARRAY_RESERVE(e->items, e->max, e->n + 1) < 0;
	return !f->failed;
}

void code_flow_add_edge(struct code_flow *f, uint32_t to, uint16_t state)
{
	if (to < f->len && reserve(f, &f->now))
		f->now.items[f->now.n++] = (struct code_edge){to, state};
}

/* The heap's first item has the lowest address. */
static void add_later(struct code_flow *f, uint32_t to, uint16_t state)
{
	struct code_edge *h;
	size_t i = f->later.n;

	if (to >= f->len || !reserve(f, &f->later))
		return;
	h = f->later.items;
	for (; i > 0 && h[(i - 1) / 2].to > to; i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = (struct code_edge){to, state};
	f->later.n++;
}

static struct code_edge take_first(struct code_edges *e)
{
	struct code_edge *h = e->items, first = h[0], last = h[--e->n];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < e->n && h[child + 1].to < h[child].to)
			child++;
		if (child >= e->n || h[child].to >= last.to)
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = last;
	return first;
}

/* ---- arriving at an instruction ---- */

static void fits(struct code_flow *f, bool does)
{
	f->trial.n_fitting += does;
	f->trial.n_misfits += !does;
}

static bool arrive_at_start(struct code_flow *f, uint32_t at, uint16_t number, enum code_way way)
{
	bool is_callers = code_state_is_callers(&f->states.states[number]);

	if (number == CODE_ENTRY && f->numbers[at] == CODE_UNREACHED)
		return true;
	if (way == CODE_BY_JUMP)
		fits(f, is_callers);
	if (way != CODE_BY_JUMP || is_callers || f->flags[at] & CODE_CALLED || f->trial.is_on)
		return false;
	f->flags[at] |= CODE_NO_START;
	f->learned = true;
	return false;
}

/* The call that ends here does not return: what leads here has another state. */
static void note_no_return(struct code_flow *f, uint32_t at)
{
	struct x86_instruction i;

	for (uint32_t back = 2; back <= X86_INSTRUCTION_MAX_BYTES && back <= at; back++) {
		uint32_t from = at - back;

		if (f->numbers[from] == CODE_UNREACHED || code_flow_decode(f, from, &i) != back)
			continue;
		if (i.kind == X86_CALL || i.kind == X86_CALL_INDIRECT) {
			f->flags[from] |= CODE_NO_RETURN;
			f->learned = true;
			return;
		}
	}
}

static void write_number(struct code_flow *f, uint32_t at, uint16_t number, enum code_way way)
{
	struct code_trial *t = &f->trial;

	f->numbers[at] = number;
	f->flags[at] &= (uint8_t)~CODE_BEHIND;
	if (way == CODE_BY_RETURNING)
		f->flags[at] |= CODE_BEHIND;
	if (!t->is_on)
		return;
	if (ARRAY_RESERVE(t->written, t->max, t->n + 1) < 0) {
		f->failed = true;
		return;
	}
	t->written[t->n++] = at;
	f->flags[at] |= CODE_TRIED;
}

/* The state here is another one. Returns whether the way goes on, with state *number. */
static bool arrive_with_another(struct code_flow *f, uint32_t at, uint16_t *number,
				enum code_way way)
{
	struct code_state s = f->states.states[f->numbers[at]];

	if (way == CODE_BY_RETURNING)
		return false;
	if (f->trial.is_on && !(f->flags[at] & CODE_TRIED)) {
		fits(f, code_state_agrees(&s, &f->states.states[*number]));
		return false;
	}
	if (f->flags[at] & CODE_BEHIND && *number != CODE_UNKNOWN &&
	    !code_state_agrees(&s, &f->states.states[*number])) {
		note_no_return(f, at);
		write_number(f, at, *number, way);
		return true;
	}
	if (!code_state_meet(&s, &f->states.states[*number]))
		return false;
	*number = code_states_number(&f->states, &s);
	if (*number == f->numbers[at])
		return false;
	f->numbers[at] = *number;
	return true;
}

/* Returns whether the instruction is to be executed, with state *number. */
static bool arrive(struct code_flow *f, uint32_t at, uint16_t *number, enum code_way way)
{
	if (at >= f->len || f->left_steps == 0 || f->failed)
		return false;
	if (code_flow_is_start(f, at) && *number != CODE_END &&
	    !arrive_at_start(f, at, *number, way))
		return false;
	if (f->numbers[at] == CODE_UNREACHED) {
		write_number(f, at, *number, way);
		return true;
	}
	if (f->numbers[at] == *number) {
		if (way != CODE_BY_RETURNING) {
			f->flags[at] &= (uint8_t)~CODE_BEHIND;
			if (!(f->flags[at] & CODE_TRIED))
				fits(f, true);
		}
		return false;
	}
	return arrive_with_another(f, at, number, way);
}

/* ---- executing it ---- */

static uint16_t step(struct code_flow *f, uint16_t number, const struct x86_instruction *i)
{
	struct code_state s = f->states.states[number];
	uint16_t writes = (uint16_t)(1u << X86_RSP | 1u << X86_RBP | 1u << s.other_register);

	if (i->kind == X86_PADDING || (i->kind == X86_OTHER && !(i->writes & writes)))
		return number;
	code_state_step(&s, i);
	return code_states_number(&f->states, &s);
}

/* Calls of the next instruction are how code finds its own address. */
static bool is_call_of_next(const struct x86_instruction *i)
{
	return i->kind == X86_CALL && i->number == 0;
}

uint32_t code_flow_target(uint32_t next, const struct x86_instruction *i)
{
	int64_t target = (int64_t)next + i->number;

	return target >= 0 && target < UINT32_MAX ? (uint32_t)target : UINT32_MAX;
}

bool code_flow_is_never(const struct code_flow *f, uint32_t next, const struct x86_instruction *i)
{
	bool is_slot = i->kind == X86_CALL_INDIRECT || i->kind == X86_JUMP_INDIRECT;
	uint32_t target = code_flow_target(next, i);

	if (is_slot && i->base != X86_NEXT)
		return false;
	if (!is_slot && target < f->len)
		return f->flags[target] & CODE_NEVER;
	return f->never &&
	       f->never(f->ctx, f->address + next + (uint64_t)(int64_t)i->number, is_slot);
}

static void note_target(struct code_flow *f, uint32_t target)
{
	if (target >= f->len || f->flags[target] & CODE_CALLED)
		return;
	f->flags[target] |= CODE_CALLED;
	if (f->numbers[target] == CODE_UNREACHED)
		code_flow_add_edge(f, target, CODE_ENTRY);
	else if (f->numbers[target] != CODE_ENTRY)
		f->learned = true;
}

/* An address that the code computes: of a function, unless it is of data or of a label. */
static void note_address(struct code_flow *f, uint32_t target)
{
	if (f->trial.is_on || target >= f->len || code_flow_is_taken(f, target))
		return;
	code_flow_add_taken(f, target);
	f->learned |= f->numbers[target] == CODE_UNREACHED;
}

static void end_with_return(struct code_flow *f, uint16_t number)
{
	const struct code_state *s = &f->states.states[number];

	if (code_state_is_callers(s))
		fits(f, true);
	else if (!code_state_may_return(s) || s->bp.base == CODE_NONE)
		fits(f, false);
}

/*
 * Goes from an instruction that ends at `next`, and left this state. Returns whether to go on,
 * with *at and *way.
 */
static bool go_on(struct code_flow *f, const struct x86_instruction *i, uint32_t *at,
		  uint16_t number, enum code_way *way)
{
	uint32_t from = *at, next = from + i->len, target = code_flow_target(next, i);

	*at = next;
	*way = CODE_BY_FALLING;
	switch (i->kind) {
	case X86_CALL:
	case X86_CALL_INDIRECT:
		if (is_call_of_next(i))
			return true;
		if (!f->trial.is_on && i->kind == X86_CALL)
			note_target(f, target);
		if (!(f->flags[from] & CODE_NO_RETURN) && number != CODE_END &&
		    !code_flow_is_never(f, next, i))
			add_later(f, next, number);
		return false;
	case X86_BRANCH:
		code_flow_add_edge(f, target, number);
		return true;
	case X86_JUMP:
		if (target >= f->len && !f->trial.is_entry && number != CODE_END &&
		    code_state_is_callers(&f->states.states[number]))
			fits(f, true); /* the end of a function */
		*at = target;
		*way = CODE_BY_JUMP;
		return true;
	case X86_RETURN:
		end_with_return(f, number);
		return false;
	case X86_JUMP_INDIRECT:
	case X86_TRAP:
		return false;
	default:
		return true;
	}
}

/* A loop that probes the stack has ended. */
static uint16_t after_loop(struct code_flow *f, uint16_t number,
			   const struct x86_instruction *compare, const struct x86_instruction *i)
{
	struct code_state s = f->states.states[number];

	if (compare->kind != X86_COMPARE || i->kind != X86_BRANCH || i->to != X86_NOT_EQUAL ||
	    !code_state_equal(&s, compare))
		return number;
	return code_states_number(&f->states, &s);
}

/* What starts a thread: rbp is cleared, and then what is in a register is called. */
static bool is_outermost(const struct code_flow *f, uint32_t at, uint16_t number)
{
	struct x86_instruction i;

	if (!code_state_is_callers(&f->states.states[number]))
		return false;
	for (unsigned n = 0; n < OUTERMOST_INSTRUCTIONS && at < f->len; n++) {
		size_t len = code_flow_decode(f, at, &i);

		if (len == 0 || (n == 0 && (i.kind != X86_CLEAR || i.to != X86_RBP)))
			return false;
		if (i.kind == X86_CALL_INDIRECT)
			return i.base == X86_NO_REGISTER;
		at += (uint32_t)len;
	}
	return false;
}

static void follow_from(struct code_flow *f, uint32_t at, uint16_t number, enum code_way way)
{
	struct x86_instruction i = {.kind = X86_OTHER}, before;
	struct code_state s;

	while (arrive(f, at, &number, way)) {
		f->left_steps--;
		before = i;
		if (code_flow_decode(f, at, &i) == 0) {
			f->numbers[at] = CODE_UNKNOWN;
			fits(f, false);
			return;
		}
		if (i.kind == X86_ADDRESS && i.base == X86_NEXT)
			note_address(f, code_flow_target(at + i.len, &i));
		if (is_call_of_next(&i)) {
			s = f->states.states[number];
			code_state_step(&s, &(struct x86_instruction){.kind = X86_PUSH_OTHER});
			number = code_states_number(&f->states, &s);
		} else if (i.kind == X86_CLEAR && is_outermost(f, at, number)) {
			number = f->numbers[at] = CODE_END;
		} else {
			number = step(f, number, &i);
		}
		if (!go_on(f, &i, &at, number, &way))
			return;
		number = after_loop(f, number, &before, &i);
	}
}

void code_flow_follow(struct code_flow *f, uint32_t at, uint16_t number)
{
	code_flow_add_edge(f, at, number);
	while (f->now.n > 0 || f->later.n > 0) {
		bool returns = f->now.n == 0;
		struct code_edge e = returns ? take_first(&f->later) : f->now.items[--f->now.n];

		if (f->trial.is_on && f->trial.n_misfits > 0)
			continue;
		if (returns && !f->may_return(f, e.to, e.state))
			continue;
		follow_from(f, e.to, e.state, returns ? CODE_BY_RETURNING : CODE_BY_JUMP);
	}
}
