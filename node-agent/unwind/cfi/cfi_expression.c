/*
 * Expressions of DWARF are programs for a stack machine. Compilers and linkers use them for a
 * handful of things: a stack that was realigned (the CFA was saved on the stack), a frame that
 * hand-written code describes, the frame of a signal handler, the stubs of a PLT. So the machine
 * is run on symbols: a value is a register plus a constant, or what is in memory at such a place,
 * plus a constant; or that again, which leads to a stack that the frame only points to. Whatever
 * leads to another kind of value is unsupported.
 *
 * The stubs of a PLT, and some functions of OpenSSL, are the exception. There is one sequence for
 * each, which is compared as bytes.
 */
#include "node-agent/unwind/cfi/cfi_cursor.h"
#include "node-agent/unwind/cfi/cfi_state.h"

#define DEPTH_MAX 8u

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08, /* then 1s, 2u, 2s, 4u, 4s, 8u, 8s */
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_NOP = 0x96,
};

/* rsp + 8 + ((rip & 15) >= n) * 8, where n, of OP_LIT0 + n, is the byte at PLT_THRESHOLD */
static const uint8_t plt[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x30, 0x2a, 0x33, 0x24, 0x22};
#define PLT_THRESHOLD 6u

/* A constant is CFI_IS_REGISTER of no register. */
struct machine {
	struct cfi_value stack[DEPTH_MAX];
	unsigned n;
	bool bad;
};

static const struct cfi_value unsupported = {.kind = CFI_UNSUPPORTED};

static void push(struct machine *m, struct cfi_value v)
{
	if (m->n == DEPTH_MAX || v.kind == CFI_UNSUPPORTED)
		m->bad = true;
	else
		m->stack[m->n++] = v;
}

static void push_register(struct machine *m, uint8_t reg, int64_t offset)
{
	push(m, (struct cfi_value){.kind = CFI_IS_REGISTER, .reg = reg, .offset = offset});
}

static void push_constant(struct machine *m, int64_t value)
{
	push_register(m, CFI_NO_REGISTER, value);
}

static struct cfi_value pop(struct machine *m)
{
	if (m->n == 0) {
		m->bad = true;
		return unsupported;
	}
	return m->stack[--m->n];
}

static bool is_constant(const struct cfi_value *v)
{
	return v->kind == CFI_IS_REGISTER && v->reg == CFI_NO_REGISTER;
}

/* Adds without overflow, which wraps as it does on the machine. */
static int64_t wrapping_sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_constant(struct machine *m, int64_t constant)
{
	struct cfi_value v = pop(m);

	if (v.kind == CFI_IS_REGISTER)
		v.offset = wrapping_sum(v.offset, constant);
	else
		v.add = wrapping_sum(v.add, constant);
	push(m, v);
}

static void add_top(struct machine *m)
{
	struct cfi_value b = pop(m), a = pop(m);

	if (is_constant(&a)) {
		push(m, b);
		add_constant(m, a.offset);
	} else {
		m->bad |= !is_constant(&b);
		push(m, a);
		add_constant(m, b.offset);
	}
}

static void subtract_top(struct machine *m)
{
	struct cfi_value b = pop(m);

	m->bad |= !is_constant(&b);
	add_constant(m, (int64_t) - (uint64_t)b.offset);
}

static void dereference(struct machine *m)
{
	struct cfi_value v = pop(m);

	if (v.kind == CFI_IS_DEREFERENCE) {
		v.kind = CFI_IS_DEREFERENCED_TWICE;
		v.middle = v.add;
		v.add = 0;
	} else {
		m->bad |= v.kind != CFI_IS_REGISTER || is_constant(&v);
		v.kind = CFI_IS_DEREFERENCE;
	}
	push(m, v);
}

static void push_fixed(struct machine *m, struct cfi_cursor *c, uint8_t op)
{
	size_t bytes = (size_t)1 << ((op - OP_CONST1U) / 2);
	bool is_signed = (op - OP_CONST1U) % 2;

	push_constant(m, is_signed ? cfi_cursor_signed(c, bytes)
				   : (int64_t)cfi_cursor_fixed(c, bytes));
}

static void execute(struct machine *m, struct cfi_cursor *c)
{
	uint8_t op = cfi_cursor_byte(c);
	uint64_t reg;

	if (op >= OP_LIT0 && op <= OP_LIT31) {
		push_constant(m, op - OP_LIT0);
	} else if (op >= OP_BREG0 && op <= OP_BREG31) {
		push_register(m, op - OP_BREG0, cfi_cursor_sleb(c));
	} else if (op >= OP_CONST1U && op <= OP_CONST8S) {
		push_fixed(m, c, op);
	} else if (op == OP_CONSTU) {
		push_constant(m, (int64_t)cfi_cursor_uleb(c));
	} else if (op == OP_CONSTS) {
		push_constant(m, cfi_cursor_sleb(c));
	} else if (op == OP_BREGX) {
		reg = cfi_cursor_uleb(c);
		m->bad |= reg >= CFI_NO_REGISTER;
		push_register(m, (uint8_t)reg, cfi_cursor_sleb(c));
	} else if (op == OP_DEREF) {
		dereference(m);
	} else if (op == OP_PLUS_UCONST) {
		add_constant(m, (int64_t)cfi_cursor_uleb(c));
	} else if (op == OP_PLUS) {
		add_top(m);
	} else if (op == OP_MINUS) {
		subtract_top(m);
	} else {
		m->bad |= op != OP_NOP;
	}
}

static bool is_plt(const uint8_t *expr, size_t len)
{
	return len == sizeof(plt) && memcmp(expr, plt, PLT_THRESHOLD) == 0 &&
	       expr[PLT_THRESHOLD] >= OP_LIT0 && expr[PLT_THRESHOLD] < OP_LIT0 + 16 &&
	       memcmp(expr + PLT_THRESHOLD + 1, plt + PLT_THRESHOLD + 1,
		      sizeof(plt) - PLT_THRESHOLD - 1) == 0;
}

/* OpenSSL's multiplication keeps the caller's stack pointer after numbers of variable length. */
static bool parse_indexed(const uint8_t *expr, size_t len, struct cfi_value *ret)
{
	static const uint8_t middle[] = {OP_LIT0 + 8, OP_MUL, OP_PLUS, OP_DEREF};
	struct cfi_cursor c = {.p = expr, .end = expr + len};
	const uint8_t *p;
	uint8_t op;

	*ret = (struct cfi_value){.kind = CFI_IS_INDEXED};
	if (cfi_cursor_byte(&c) != OP_BREG0 + CFI_X86_RSP)
		return false;
	ret->offset = cfi_cursor_sleb(&c);
	op = cfi_cursor_byte(&c);
	if (op < OP_BREG0 || op > OP_BREG31 || cfi_cursor_sleb(&c) != 0)
		return false;
	ret->reg = op - OP_BREG0;
	p = cfi_cursor_take(&c, sizeof(middle));
	if (!p || memcmp(p, middle, sizeof(middle)) != 0)
		return false;
	if (c.p < c.end && cfi_cursor_byte(&c) == OP_PLUS_UCONST)
		ret->add = (int64_t)cfi_cursor_uleb(&c);
	return c.p == c.end && !c.bad;
}

struct cfi_value cfi_expression_parse(const uint8_t *expr, size_t len)
{
	struct cfi_cursor c = {.p = expr, .end = expr + len};
	struct machine m = {.n = 0};
	struct cfi_value indexed;

	if (parse_indexed(expr, len, &indexed))
		return indexed;
	if (is_plt(expr, len))
		return (struct cfi_value){.kind = CFI_IS_PLT,
					  .reg = CFI_X86_RSP,
					  .offset = 8,
					  .add = expr[PLT_THRESHOLD] - OP_LIT0};
	while (c.p < c.end && !m.bad)
		execute(&m, &c);
	if (m.bad || c.bad || m.n != 1 || is_constant(&m.stack[0]))
		return unsupported;
	return m.stack[0];
}
