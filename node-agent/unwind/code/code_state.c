/*
 * Of the general registers, only rsp and rbp are followed everywhere, and one more at a time: the
 * one that got the CFA or the stack pointer before the stack was aligned or probed. Compilers use
 * r10 and r11 for that, assembly rax, rbx or any.
 *
 * The return address is the word below the CFA. Code that takes it from there, as that of
 * interpreters does to change its arguments, cannot be followed any more.
 */
#include "node-agent/unwind/code/code_state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define WORD UNWIND_WORD_BYTES
/* Frames are smaller; larger numbers are no stack pointers. */
#define OFFSET_MAX (1 << 30)

const struct code_state code_state_entry = {
	.sp = {.offset = -WORD, .base = CODE_CFA},
	.bp = {.base = CODE_CALLERS},
};

const struct code_state code_state_outermost = {
	.sp = {.base = CODE_ELSEWHERE},
	.kind = CODE_OUTERMOST,
};

const struct code_state code_state_signal = {
	.sp = {.base = CODE_ELSEWHERE},
	.kind = CODE_SIGNAL,
};

const struct code_state code_state_strange = {
	.sp = {.base = CODE_ELSEWHERE},
	.kind = CODE_STRANGE,
};

static bool same(struct code_value a, struct code_value b)
{
	return a.base == b.base && a.offset == b.offset;
}

static bool is_place(struct code_value v)
{
	return v.base == CODE_CFA || v.base == CODE_ELSEWHERE;
}

static struct code_value moved(struct code_value v, int64_t by)
{
	static const struct code_value none = {.base = CODE_NONE};
	int64_t offset = v.offset + by;

	if (!is_place(v) || offset > OFFSET_MAX || offset < -OFFSET_MAX)
		return none;
	v.offset = (int32_t)offset;
	return v;
}

static void forget_elsewhere(struct code_value *v)
{
	if (v->base == CODE_ELSEWHERE)
		*v = (struct code_value){.base = CODE_NONE};
}

static void forget_other(struct code_state *s)
{
	s->other_register = 0;
	s->other = (struct code_value){.base = CODE_NONE};
}

static void forget_cfa_at(struct code_state *s)
{
	s->cfa_at = (struct code_value){.base = CODE_NONE};
	s->cfa_at_offset = 0;
}

/*
 * The stack pointer changes in a way that cannot be followed. It makes a new place that is not
 * known, unless the frame pointer is relative to the present one.
 */
static void lose_sp(struct code_state *s)
{
	if (s->bp.base == CODE_ELSEWHERE) {
		s->sp = (struct code_value){.base = CODE_NONE};
		return;
	}
	forget_elsewhere(&s->bp_at);
	if (s->cfa_at.base == CODE_ELSEWHERE)
		forget_cfa_at(s);
	s->sp = (struct code_value){.base = CODE_ELSEWHERE};
}

static struct code_value value_of(const struct code_state *s, uint8_t reg)
{
	static const struct code_value none = {.base = CODE_NONE};

	if (reg == X86_RSP)
		return s->sp;
	if (reg == X86_RBP)
		return s->bp;
	return s->other.base != CODE_NONE && reg == s->other_register ? s->other : none;
}

static void set_sp(struct code_state *s, struct code_value v)
{
	if (!is_place(v)) {
		lose_sp(s);
		return;
	}
	if (v.base == CODE_CFA && v.offset > -WORD) {
		*s = code_state_strange;
		return;
	}
	s->sp = v;
	/* what is below the stack pointer may be overwritten */
	if (s->cfa_at.base == v.base && s->cfa_at.offset < v.offset)
		forget_cfa_at(s);
}

static void set_bp(struct code_state *s, struct code_value v)
{
	s->bp = v;
	if (v.base == CODE_CALLERS)
		s->bp_at = (struct code_value){.base = CODE_NONE};
}

/* keeps: whether this register is likely to be what the CFA is found by later. */
static void set(struct code_state *s, uint8_t reg, struct code_value v, bool keeps)
{
	if (reg == X86_RSP) {
		set_sp(s, v);
	} else if (reg == X86_RBP) {
		set_bp(s, v);
	} else if (keeps && v.base == CODE_CFA) {
		s->other_register = reg;
		s->other = v;
	} else if (reg == s->other_register) {
		forget_other(s);
	}
}

/* ---- memory ---- */

static struct code_value load(const struct code_state *s, struct code_value at)
{
	struct code_value v = {.base = CODE_NONE};

	if (!is_place(at))
		return v;
	if (same(at, s->bp_at))
		v.base = CODE_CALLERS;
	else if (same(at, s->cfa_at))
		v = (struct code_value){.base = CODE_CFA, .offset = s->cfa_at_offset};
	return v;
}

/* reg is X86_NO_REGISTER for any other value. */
static void store(struct code_state *s, struct code_value at, uint8_t reg)
{
	struct code_value v = value_of(s, reg);

	if (!is_place(at))
		return;
	if (at.base == CODE_CFA && at.offset == -WORD) {
		*s = code_state_strange;
		return;
	}
	if (reg == X86_RBP && v.base == CODE_CALLERS) {
		/* it may be stored again, as an argument; it is restored from the first place */
		if (s->bp_at.base == CODE_NONE)
			s->bp_at = at;
		return;
	}
	if (same(at, s->bp_at))
		s->bp_at = (struct code_value){.base = CODE_NONE};
	if (v.base == CODE_CFA && reg == s->other_register && reg != X86_RSP) {
		s->cfa_at = at;
		s->cfa_at_offset = v.offset;
	} else if (same(at, s->cfa_at)) {
		forget_cfa_at(s);
	}
}

static void push(struct code_state *s, uint8_t reg)
{
	struct code_value at = moved(s->sp, -WORD);

	store(s, at, reg);
	set_sp(s, at);
}

static void pop(struct code_state *s, uint8_t reg)
{
	struct code_value v = load(s, s->sp);

	set_sp(s, moved(s->sp, WORD));
	if (reg != X86_NO_REGISTER)
		set(s, reg, v, true);
}

static void leave(struct code_state *s)
{
	set_sp(s, s->bp);
	pop(s, X86_RBP);
}

static void enter(struct code_state *s, const struct x86_instruction *i)
{
	push(s, X86_RBP);
	set_bp(s, s->sp);
	set_sp(s, moved(s->sp, -(int64_t)i->number));
}

/* ---- one instruction ---- */

static void write_registers(struct code_state *s, uint16_t registers)
{
	static const struct code_value none = {.base = CODE_NONE};

	if (registers & 1u << X86_RSP)
		lose_sp(s);
	if (registers & 1u << X86_RBP)
		set_bp(s, none);
	if (registers >> s->other_register & 1u)
		forget_other(s);
}

/* Calls leave these registers alone; rsp and rbp are the others. */
static void call(struct code_state *s)
{
	if (s->other_register != X86_RBX && s->other_register < 12)
		forget_other(s);
}

static void address(struct code_state *s, const struct x86_instruction *i)
{
	struct code_value v = moved(value_of(s, i->base), i->number);

	/* of a probe below the stack, or of the arguments; not of a local variable */
	set(s, i->to, v, v.offset == 0 || (i->base == X86_RSP && i->number <= 0));
}

/* adds to, or aligns, a register */
static void compute(struct code_state *s, const struct x86_instruction *i)
{
	struct code_value v = {.base = CODE_NONE};

	if (i->kind == X86_ADD)
		v = moved(value_of(s, i->to), i->number);
	set(s, i->to, v, true);
}

static void step(struct code_state *s, const struct x86_instruction *i)
{
	switch (i->kind) {
	case X86_PUSH:
		push(s, i->from);
		break;
	case X86_PUSH_OTHER:
		push(s, X86_NO_REGISTER);
		break;
	case X86_POP:
		pop(s, i->to);
		break;
	case X86_POP_OTHER:
		pop(s, X86_NO_REGISTER);
		break;
	case X86_MOVE:
		set(s, i->to, value_of(s, i->from), i->from == X86_RSP);
		break;
	case X86_STORE:
		store(s, moved(value_of(s, i->base), i->number), i->from);
		break;
	case X86_LOAD:
		set(s, i->to, load(s, moved(value_of(s, i->base), i->number)), true);
		break;
	case X86_ADDRESS:
		address(s, i);
		break;
	case X86_ADD:
	case X86_AND:
		compute(s, i);
		break;
	case X86_ENTER:
		enter(s, i);
		break;
	case X86_LEAVE:
		leave(s);
		break;
	case X86_CALL:
	case X86_CALL_INDIRECT:
		call(s);
		break;
	default:
		write_registers(s, i->writes);
	}
}

void code_state_step(struct code_state *s, const struct x86_instruction *i)
{
	if (s->kind == CODE_FRAME)
		step(s, i);
	if (s->kind == CODE_STRANGE)
		*s = code_state_strange;
}

static bool meet_value(struct code_value *v, struct code_value other)
{
	if (same(*v, other) || v->base == CODE_NONE)
		return false;
	*v = (struct code_value){.base = CODE_NONE};
	return true;
}

bool code_state_meet(struct code_state *s, const struct code_state *other)
{
	const struct code_state before = *s;

	if (s->kind != other->kind)
		*s = code_state_strange;
	if (s->kind != CODE_FRAME)
		return s->kind != before.kind;
	if (!same(s->sp, other->sp))
		lose_sp(s);
	meet_value(&s->bp, other->bp);
	meet_value(&s->bp_at, other->bp_at);
	if (!same(s->cfa_at, other->cfa_at) || s->cfa_at_offset != other->cfa_at_offset)
		forget_cfa_at(s);
	if (!same(s->other, other->other) || s->other_register != other->other_register)
		forget_other(s);
	return memcmp(s, &before, sizeof(before)) != 0;
}

/*
 * Not all code has to preserve rbp: that of GraalVM's native images uses it like any other
 * register. It has not saved it then, and its caller does not need it.
 */
static bool has_lost_bp(const struct code_state *s)
{
	return s->bp.base == CODE_NONE && s->bp_at.base == CODE_NONE;
}

bool code_state_agrees(const struct code_state *s, const struct code_state *other)
{
	if (s->kind != other->kind || !same(s->bp_at, other->bp_at))
		return false;
	if (s->bp_at.base == CODE_NONE && !has_lost_bp(s) && !has_lost_bp(other) &&
	    (s->bp.base == CODE_CALLERS) != (other->bp.base == CODE_CALLERS))
		return false;
	return same(s->sp, other->sp) || (s->bp.base == CODE_CFA && same(s->bp, other->bp));
}

bool code_state_may_return(const struct code_state *s)
{
	if (s->kind != CODE_FRAME)
		return s->kind != CODE_STRANGE;
	return s->sp.base != CODE_CFA || same(s->sp, code_state_entry.sp);
}

bool code_state_is_callers(const struct code_state *s)
{
	return same(s->sp, code_state_entry.sp) && (s->bp.base == CODE_CALLERS || has_lost_bp(s));
}

bool code_state_equal(struct code_state *s, const struct x86_instruction *compare)
{
	bool is_sp = compare->to == X86_RSP || compare->from == X86_RSP;
	uint8_t reg = compare->to == X86_RSP ? compare->from : compare->to;

	if (!is_sp || s->other.base != CODE_CFA || reg != s->other_register)
		return false;
	s->sp = s->other;
	return true;
}

/* ---- rules ---- */

static bool to_words(int64_t bytes, int64_t min, int64_t max, int64_t *ret)
{
	*ret = bytes / WORD;
	return bytes % WORD == 0 && *ret >= min && *ret <= max;
}

/* From the stack or frame pointer, at this distance below the CFA. */
static bool set_cfa(struct unwind_rule *rule, enum unwind_cfa base, int64_t distance)
{
	int64_t words;

	if (!to_words(distance, 0, INT32_MAX, &words))
		return false;
	rule->base = (__u8)base;
	rule->cfa = (__u16)words;
	rule->aux = (__s16)(words >> 16);
	return true;
}

/* From a word of the stack: at a distance from the stack or frame pointer. */
static bool set_cfa_at(struct unwind_rule *rule, const struct code_state *s)
{
	bool by_sp = s->cfa_at.base != s->bp.base;
	int64_t from = by_sp ? s->sp.offset : s->bp.offset, words, add;

	if (s->cfa_at.base == CODE_NONE || (by_sp && s->cfa_at.base != s->sp.base) ||
	    !to_words(s->cfa_at.offset - from, INT16_MIN, INT16_MAX, &words) ||
	    !to_words(-(int64_t)s->cfa_at_offset, INT16_MIN, INT16_MAX, &add))
		return false;
	rule->base = by_sp ? UNWIND_CFA_AT_SP : UNWIND_CFA_AT_FP;
	rule->cfa = (__u16)words;
	rule->aux = (__s16)add;
	return true;
}

/* From a register that is known in the innermost frame only. */
static bool set_cfa_register(struct unwind_rule *rule, const struct code_state *s)
{
	static const uint8_t dwarf[X86_REGISTERS] = {0, 2, 1,  3,  7,  6,  4,  5,
						     8, 9, 10, 11, 12, 13, 14, 15};
	int64_t words;

	if (s->other.base != CODE_CFA ||
	    !to_words(-(int64_t)s->other.offset, 0, UINT16_MAX, &words))
		return false;
	rule->base = (__u8)(UNWIND_CFA_REGISTER + dwarf[s->other_register % X86_REGISTERS]);
	rule->cfa = (__u16)words;
	return true;
}

/*
 * Code that uses the register for something else, and has not saved it, has callers all the same:
 * the walk goes on until one of them needs it.
 */
static void set_fp(struct unwind_rule *rule, const struct code_state *s)
{
	int64_t from = 0, words;

	rule->how = UNWIND_FP_SAME;
	if (s->bp.base == CODE_CALLERS)
		return;
	rule->fp = UNWIND_FP_LOST;
	if (s->bp_at.base == CODE_CFA) {
		rule->how = UNWIND_FP_AT_CFA;
	} else if (s->bp_at.base == CODE_ELSEWHERE && s->bp.base == CODE_ELSEWHERE) {
		rule->how = UNWIND_FP_AT_FP;
		from = s->bp.offset;
	} else if (s->bp_at.base == CODE_ELSEWHERE && s->sp.base == CODE_ELSEWHERE) {
		rule->how = UNWIND_FP_AT_SP;
		from = s->sp.offset;
	} else {
		return;
	}
	/* UNWIND_FP_LOST is no distance */
	if (to_words(s->bp_at.offset - from, INT16_MIN + 1, INT16_MAX, &words))
		rule->fp = (__s16)words;
	else
		rule->how = UNWIND_FP_SAME;
}

/*
 * The frame pointer comes first, because it does not move with the stack: one rule serves for
 * most of a function.
 */
static bool set_rule(struct unwind_rule *rule, const struct code_state *s)
{
	if (s->bp.base == CODE_CFA) {
		if (!set_cfa(rule, UNWIND_CFA_FP, -(int64_t)s->bp.offset))
			return false;
	} else if (s->sp.base == CODE_CFA) {
		if (!set_cfa(rule, UNWIND_CFA_SP, -(int64_t)s->sp.offset))
			return false;
	} else if (!set_cfa_at(rule, s) && !set_cfa_register(rule, s)) {
		return false;
	}
	set_fp(rule, s);
	return true;
}

struct unwind_rule code_state_rule(const struct code_state *s)
{
	static const struct unwind_rule unknown = {.base = UNWIND_CFA_UNKNOWN};
	struct unwind_rule rule = unknown;

	if (s->kind == CODE_FRAME)
		rule = set_rule(&rule, s) ? rule : unknown;
	else if (s->kind != CODE_STRANGE)
		rule.base = s->kind == CODE_SIGNAL ? UNWIND_CFA_SIGNAL : UNWIND_CFA_END;
	return rule;
}

/* ---- numbers of states ---- */

void code_states_reset(struct code_states *d)
{
	for (uint32_t i = CODE_UNKNOWN; i < d->n; i++)
		d->buckets[d->bucket_of[i]] = 0;
	d->n = CODE_UNKNOWN;
	code_states_number(d, &code_state_strange);
	code_states_number(d, &code_state_entry);
	code_states_number(d, &code_state_outermost);
	code_states_number(d, &code_state_signal);
}

uint16_t code_states_number(struct code_states *d, const struct code_state *s)
{
	size_t i = XXH3_64bits(s, sizeof(*s)) % ARRAY_SIZE(d->buckets);

	for (; d->buckets[i] != 0; i = (i + 1) % ARRAY_SIZE(d->buckets)) {
		if (memcmp(&d->states[d->buckets[i]], s, sizeof(*s)) == 0)
			return d->buckets[i];
	}
	if (d->n == CODE_STATES_MAX)
		return CODE_UNKNOWN;
	d->states[d->n] = *s;
	d->buckets[i] = (uint16_t)d->n;
	d->bucket_of[d->n] = (uint16_t)i;
	return (uint16_t)d->n++;
}
