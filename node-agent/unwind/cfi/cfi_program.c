/*
 * An instruction either moves on in the code, which completes the piece before, or changes the
 * state. States can be saved on a stack and restored, which compilers use around early returns.
 *
 * Instructions that are unknown make the rest of the function unknown, because their length is.
 */
#include "node-agent/unwind/cfi/cfi_program.h"

#include <errno.h>

#include "node-agent/unwind/cfi/cfi_cursor.h"

/* Nesting of saved states; compilers use one. */
#define SAVED_MAX 16u

/* Instructions whose operand is in their low six bits. */
#define CFA_ADVANCE_LOC 0x40
#define CFA_OFFSET 0x80
#define CFA_RESTORE 0xc0
#define CFA_PRIMARY 0xc0
#define CFA_OPERAND 0x3f

enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d, /* on other machines CFA_GNU_window_save */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct vm {
	const struct cfi_coding *coding;
	const struct cfi_state *initial; /* NULL: the CIE's own instructions */
	struct cfi_cursor c;
	const uint8_t *code;
	uint64_t code_vaddr;
	struct cfi_state state;
	struct cfi_state saved[SAVED_MAX];
	unsigned n_saved;
	uint64_t address;
	uint64_t end;
	cfi_state_fn *fn;
	void *ctx;
};

/* The value of a register that the state has; NULL: it has none of this register. */
static struct cfi_value *value_of(const struct vm *vm, struct cfi_state *s, uint64_t reg)
{
	const struct cfi_registers *r = &vm->coding->registers;

	if (reg == r->ra)
		return &s->ra;
	if (reg == r->fp)
		return &s->fp;
	if (reg == r->sp)
		return &s->sp;
	if (reg == r->rbx)
		return &s->rbx;
	return NULL;
}

static void set(struct vm *vm, uint64_t reg, enum cfi_value_kind kind, int64_t offset)
{
	struct cfi_value *v = value_of(vm, &vm->state, reg);

	if (v)
		*v = (struct cfi_value){.kind = kind, .offset = offset};
}

/* Products wrap, as broken offsets do no harm. */
static int64_t scaled(int64_t factor, int64_t by)
{
	return (int64_t)((uint64_t)factor * (uint64_t)by);
}

static int64_t factored(struct vm *vm)
{
	return scaled((int64_t)cfi_cursor_uleb(&vm->c), vm->coding->data_align);
}

static int64_t factored_signed(struct vm *vm)
{
	return scaled(cfi_cursor_sleb(&vm->c), vm->coding->data_align);
}

static int advance_to(struct vm *vm, uint64_t address)
{
	int r = 0;

	if (!vm->initial || address < vm->address)
		return -EBADMSG;
	if (address > vm->address && vm->address < vm->end)
		r = vm->fn(vm->ctx, vm->address, address < vm->end ? address : vm->end, &vm->state);
	vm->address = address;
	return r;
}

static int advance(struct vm *vm, uint64_t delta)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(delta, vm->coding->code_align, &bytes) ||
	    __builtin_add_overflow(bytes, vm->address, &bytes))
		return -EBADMSG;
	return advance_to(vm, bytes);
}

static int set_location(struct vm *vm)
{
	uint64_t vaddr = vm->code_vaddr + (uint64_t)(vm->c.p - vm->code);

	return advance_to(vm, cfi_cursor_pointer(&vm->c, vm->coding->pointers, vaddr));
}

static int restore(struct vm *vm, uint64_t reg)
{
	struct cfi_state initial;
	struct cfi_value *v = value_of(vm, &vm->state, reg);

	if (!vm->initial)
		return -EBADMSG;
	initial = *vm->initial;
	if (v)
		*v = *value_of(vm, &initial, reg);
	return 0;
}

static int remember_state(struct vm *vm)
{
	if (vm->n_saved == SAVED_MAX)
		return -EBADMSG;
	vm->saved[vm->n_saved++] = vm->state;
	return 0;
}

static int restore_state(struct vm *vm)
{
	if (vm->n_saved == 0)
		return -EBADMSG;
	vm->state = vm->saved[--vm->n_saved];
	return 0;
}

static void set_cfa_register(struct vm *vm, uint64_t reg)
{
	struct cfi_value *cfa = &vm->state.cfa;

	cfa->kind = reg < CFI_NO_REGISTER ? CFI_IS_REGISTER : CFI_UNSUPPORTED;
	cfa->reg = (uint8_t)reg;
	cfa->add = 0;
}

/* Not of an expression, which has none: assembly counts its pushes there, too. */
static void set_cfa_offset(struct vm *vm, int64_t offset)
{
	if (vm->state.cfa.kind == CFI_IS_REGISTER)
		vm->state.cfa.offset = offset;
}

static void define_cfa(struct vm *vm, bool is_signed)
{
	set_cfa_register(vm, cfi_cursor_uleb(&vm->c));
	vm->state.cfa.offset = is_signed ? factored_signed(vm) : (int64_t)cfi_cursor_uleb(&vm->c);
}

static struct cfi_value read_expression(struct vm *vm)
{
	uint64_t len = cfi_cursor_uleb(&vm->c);
	const uint8_t *expr = cfi_cursor_take(&vm->c, len);

	if (!expr)
		return (struct cfi_value){.kind = CFI_UNSUPPORTED};
	return cfi_expression_parse(expr, (size_t)len);
}

/* A register whose value, or the place of whose value, an expression computes. */
static void set_expression(struct vm *vm, bool is_value)
{
	uint64_t reg = cfi_cursor_uleb(&vm->c);
	struct cfi_value *v = value_of(vm, &vm->state, reg);
	struct cfi_value e = read_expression(vm);

	if (!v)
		return;
	if (!is_value)
		e.kind = e.kind == CFI_IS_REGISTER ? CFI_AT_REGISTER : CFI_UNSUPPORTED;
	*v = e;
}

static void set_register(struct vm *vm)
{
	uint64_t reg = cfi_cursor_uleb(&vm->c), in = cfi_cursor_uleb(&vm->c);
	struct cfi_value *v = value_of(vm, &vm->state, reg);

	if (v)
		*v = (struct cfi_value){
			.kind = in < CFI_NO_REGISTER ? CFI_IN_REGISTER : CFI_UNSUPPORTED,
			.reg = (uint8_t)in,
		};
}

/* Instructions that set the CFA. Returns false if op is none. */
static bool execute_cfa(struct vm *vm, uint8_t op)
{
	switch (op) {
	case CFA_DEF_CFA:
		define_cfa(vm, false);
		return true;
	case CFA_DEF_CFA_SF:
		define_cfa(vm, true);
		return true;
	case CFA_DEF_CFA_REGISTER:
		set_cfa_register(vm, cfi_cursor_uleb(&vm->c));
		return true;
	case CFA_DEF_CFA_OFFSET:
		set_cfa_offset(vm, (int64_t)cfi_cursor_uleb(&vm->c));
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa_offset(vm, factored_signed(vm));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		vm->state.cfa = read_expression(vm);
		return true;
	default:
		return false;
	}
}

/* Instructions that set another register. Returns false if op is none. */
static bool execute_register(struct vm *vm, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION:
		set_expression(vm, op == CFA_VAL_EXPRESSION);
		return true;
	case CFA_REGISTER:
		set_register(vm);
		return true;
	case CFA_OFFSET_EXTENDED:
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
	case CFA_UNDEFINED:
	case CFA_SAME_VALUE:
		break;
	default:
		return false;
	}
	reg = cfi_cursor_uleb(&vm->c);
	if (op == CFA_OFFSET_EXTENDED)
		set(vm, reg, CFI_AT_CFA, factored(vm));
	else if (op == CFA_OFFSET_EXTENDED_SF)
		set(vm, reg, CFI_AT_CFA, factored_signed(vm));
	else if (op == CFA_VAL_OFFSET)
		set(vm, reg, CFI_IS_CFA, factored(vm));
	else if (op == CFA_VAL_OFFSET_SF)
		set(vm, reg, CFI_IS_CFA, factored_signed(vm));
	else if (op == CFA_GNU_NEGATIVE_OFFSET_EXTENDED)
		set(vm, reg, CFI_AT_CFA, scaled(-1, factored(vm)));
	else
		set(vm, reg, op == CFA_UNDEFINED ? CFI_UNDEFINED : CFI_SAME, 0);
	return true;
}

static int execute_other(struct vm *vm, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
	case CFA_AARCH64_NEGATE_RA_STATE: /* the walk strips signatures from all addresses */
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return 0;
	case CFA_SET_LOC:
		return set_location(vm);
	case CFA_ADVANCE_LOC1:
		return advance(vm, cfi_cursor_fixed(&vm->c, 1));
	case CFA_ADVANCE_LOC2:
		return advance(vm, cfi_cursor_fixed(&vm->c, 2));
	case CFA_ADVANCE_LOC4:
		return advance(vm, cfi_cursor_fixed(&vm->c, 4));
	case CFA_MIPS_ADVANCE_LOC8:
		return advance(vm, cfi_cursor_fixed(&vm->c, 8));
	case CFA_RESTORE_EXTENDED:
		return restore(vm, cfi_cursor_uleb(&vm->c));
	case CFA_REMEMBER_STATE:
		return remember_state(vm);
	case CFA_RESTORE_STATE:
		return restore_state(vm);
	case CFA_GNU_ARGS_SIZE: /* for the landing pads of exceptions */
		cfi_cursor_uleb(&vm->c);
		return 0;
	default:
		return execute_cfa(vm, op) || execute_register(vm, op) ? 0 : -EBADMSG;
	}
}

static int execute(struct vm *vm)
{
	uint8_t op = cfi_cursor_byte(&vm->c), operand = op & CFA_OPERAND;

	switch (op & CFA_PRIMARY) {
	case CFA_ADVANCE_LOC:
		return advance(vm, operand);
	case CFA_OFFSET:
		set(vm, operand, CFI_AT_CFA, factored(vm));
		return 0;
	case CFA_RESTORE:
		return restore(vm, operand);
	default:
		return execute_other(vm, op);
	}
}

static int execute_all(struct vm *vm)
{
	int r = 0;

	while (r == 0 && vm->c.p < vm->c.end)
		r = execute(vm);
	if (r == 0 && vm->c.bad)
		r = -EBADMSG;
	return r;
}

int cfi_program_begin(struct cfi_state *ret, const struct cfi_coding *coding, const uint8_t *code,
		      size_t len)
{
	struct vm vm = {
		.coding = coding,
		.c = {.p = code, .end = code + len},
		.state = {.cfa = {.kind = CFI_UNSUPPORTED}},
	};
	int r = execute_all(&vm);

	if (r == 0)
		*ret = vm.state;
	return r;
}

int cfi_program_run(const struct cfi_function *f, const struct cfi_coding *coding,
		    const struct cfi_state *initial, cfi_state_fn *fn, void *ctx)
{
	UNINITIALIZED struct vm vm;
	int r;

	vm.coding = coding;
	vm.initial = initial;
	vm.c = (struct cfi_cursor){.p = f->code, .end = f->code + f->len};
	vm.code = f->code;
	vm.code_vaddr = f->code_vaddr;
	vm.state = *initial;
	vm.n_saved = 0;
	vm.address = f->start;
	vm.end = f->end;
	vm.fn = fn;
	vm.ctx = ctx;
	r = execute_all(&vm);
	if (r == 0)
		r = advance_to(&vm, f->end > vm.address ? f->end : vm.address);
	return r;
}
