#include <elf.h>
#include <errno.h>

#include "node-agent/unwind/cfi/cfi_program.h"
#include "node-agent/unwind/cfi/cfi_rule.h"
#include "test/lib/unit.h"

#define PIECES 16u
#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

enum {
	START = 0x1000,
	END = 0x1100,
	CODE_VADDR = 0x5000,
};

/* def_cfa rsp+8; ra at CFA-8, as all compilers begin on x86-64 */
static const uint8_t x86_cie[] = {0x0c, 7, 8, 0x80 | 16, 1};

struct piece {
	uint64_t start, end;
	struct cfi_state state;
};

struct fixture {
	struct cfi_coding coding;
	struct cfi_state initial;
	struct piece pieces[PIECES];
	size_t n;
};

static int keep(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s)
{
	struct fixture *f = ctx;

	assert_true(f->n < PIECES);
	f->pieces[f->n++] = (struct piece){start, end, *s};
	return 0;
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){.coding = {.code_align = 1, .data_align = -8}};
	assert_true(cfi_registers_of(EM_X86_64, &f->coding.registers));
	assert_int_equal(cfi_program_begin(&f->initial, &f->coding, x86_cie, sizeof(x86_cie)), 0);
}

static int run(struct fixture *f, const uint8_t *code, size_t len)
{
	const struct cfi_function function = {
		.start = START,
		.end = END,
		.code = code,
		.len = len,
		.code_vaddr = CODE_VADDR,
	};

	return cfi_program_run(&function, &f->coding, &f->initial, keep, f);
}

/* The state at the end of a function with these instructions. */
static struct cfi_state state_after(const uint8_t *code, size_t len)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(run(&f, code, len), 0);
	assert_int_equal(f.n, 1);
	return f.pieces[0].state;
}

static void expect_place(const struct cfi_value *v, enum cfi_value_kind kind, unsigned reg,
			 int64_t offset)
{
	assert_int_equal(v->kind, kind);
	assert_int_equal(v->reg, reg);
	assert_int_equal(v->offset, offset);
}

TEST(a_function_without_instructions_is_one_piece)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(run(&f, BYTES(0, 0, 0)), 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.pieces[0].start, START);
	assert_int_equal(f.pieces[0].end, END);
	expect_place(&f.pieces[0].state.cfa, CFI_IS_REGISTER, CFI_X86_RSP, 8);
	expect_place(&f.pieces[0].state.ra, CFI_AT_CFA, 0, -8);
	expect_place(&f.pieces[0].state.fp, CFI_SAME, 0, 0);
}

TEST(each_advance_ends_a_piece)
{
	static const uint64_t ends[] = {0x1001, 0x1011, 0x1031, 0x1061, 0x1071, 0x1078, END};
	struct fixture f;

	begin(&f);
	f.coding.pointers = 0x1b; /* relative to itself, 4 bytes, signed */
	assert_int_equal(run(&f, BYTES(0x41, 0x02, 0x10, 0x03, 0x20, 0, 0x04, 0x30, 0, 0, 0, 0x1d,
				       0x10, 0, 0, 0, 0, 0, 0, 0, 0x01, 0x63, 0xc0, 0xff, 0xff)),
			 0);
	assert_int_equal(f.n, ARRAY_SIZE(ends));
	for (size_t i = 0; i < f.n; i++) {
		assert_int_equal(f.pieces[i].start, i > 0 ? ends[i - 1] : START);
		assert_int_equal(f.pieces[i].end, ends[i]);
	}
}

TEST(advances_count_in_units_of_code_and_stop_at_the_end)
{
	struct fixture f;

	begin(&f);
	f.coding.code_align = 4;
	assert_int_equal(run(&f, BYTES(0x41, 0x7f, 0x41, 0x41)), 0);
	assert_int_equal(f.n, 2); /* the others are behind the end */
	assert_int_equal(f.pieces[0].end, START + 4);
	assert_int_equal(f.pieces[1].end, END);
}

TEST(the_cfa_can_be_defined_in_every_way)
{
	struct cfi_state s;

	s = state_after(BYTES(0x0c, 6, 0x90, 0x01));
	expect_place(&s.cfa, CFI_IS_REGISTER, CFI_X86_RBP, 144);
	s = state_after(BYTES(0x12, 6, 0x7e)); /* def_cfa_sf: -2 * -8 */
	expect_place(&s.cfa, CFI_IS_REGISTER, CFI_X86_RBP, 16);
	s = state_after(BYTES(0x0d, 6));
	expect_place(&s.cfa, CFI_IS_REGISTER, CFI_X86_RBP, 8);
	s = state_after(BYTES(0x0e, 64));
	expect_place(&s.cfa, CFI_IS_REGISTER, CFI_X86_RSP, 64);
	s = state_after(BYTES(0x13, 0x78)); /* def_cfa_offset_sf: -8 * -8 */
	expect_place(&s.cfa, CFI_IS_REGISTER, CFI_X86_RSP, 64);
	s = state_after(BYTES(0x0f, 3, 0x76, 0x78, 0x06)); /* expression: breg6 -8; deref */
	expect_place(&s.cfa, CFI_IS_DEREFERENCE, CFI_X86_RBP, -8);
}

TEST(registers_can_be_saved_in_every_way)
{
	struct cfi_state s;

	s = state_after(BYTES(0x86, 2));
	expect_place(&s.fp, CFI_AT_CFA, 0, -16);
	s = state_after(BYTES(0x05, 6, 3));
	expect_place(&s.fp, CFI_AT_CFA, 0, -24);
	s = state_after(BYTES(0x11, 6, 0x7c));
	expect_place(&s.fp, CFI_AT_CFA, 0, 32);
	s = state_after(BYTES(0x2f, 6, 4));
	expect_place(&s.fp, CFI_AT_CFA, 0, 32);
	s = state_after(BYTES(0x14, 7, 1));
	expect_place(&s.sp, CFI_IS_CFA, 0, -8);
	s = state_after(BYTES(0x15, 7, 0x7f));
	expect_place(&s.sp, CFI_IS_CFA, 0, 8);
	s = state_after(BYTES(0x09, 16, 5));
	expect_place(&s.ra, CFI_IN_REGISTER, 5, 0);
	s = state_after(BYTES(0x07, 16));
	expect_place(&s.ra, CFI_UNDEFINED, 0, 0);
	s = state_after(BYTES(0x86, 2, 0x08, 6));
	expect_place(&s.fp, CFI_SAME, 0, 0);
	s = state_after(BYTES(0x10, 6, 2, 0x76, 0)); /* expression: at breg6 + 0 */
	expect_place(&s.fp, CFI_AT_REGISTER, CFI_X86_RBP, 0);
	s = state_after(BYTES(0x16, 6, 2, 0x77, 8)); /* val_expression: is breg7 + 8 */
	expect_place(&s.fp, CFI_IS_REGISTER, CFI_X86_RSP, 8);
}

TEST(registers_that_no_walk_needs_are_skipped)
{
	struct cfi_state s;

	s = state_after(BYTES(0x83, 2, 0x05, 12, 3, 0x09, 3, 4, 0x10, 13, 2, 0x76, 0, 0x16, 14, 1,
			      0x30, 0x2e, 0x10, 0x2d, 0x2c, 0x0e, 32));
	expect_place(&s.cfa, CFI_IS_REGISTER, CFI_X86_RSP, 32);
	expect_place(&s.fp, CFI_SAME, 0, 0);
}

TEST(restoring_yields_the_state_of_the_start)
{
	struct cfi_state s;

	s = state_after(BYTES(0x86, 2, 0xc6));
	expect_place(&s.fp, CFI_SAME, 0, 0);
	s = state_after(BYTES(0x07, 16, 0x06, 16));
	expect_place(&s.ra, CFI_AT_CFA, 0, -8);
}

TEST(states_are_remembered_as_a_whole)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(
		run(&f, BYTES(0x86, 2, 0x0e, 16, 0x0a, 0x41, 0x0c, 6, 32, 0xc6, 0x41, 0x0b)), 0);
	assert_int_equal(f.n, 3);
	expect_place(&f.pieces[1].state.cfa, CFI_IS_REGISTER, CFI_X86_RBP, 32);
	expect_place(&f.pieces[1].state.fp, CFI_SAME, 0, 0);
	expect_place(&f.pieces[2].state.cfa, CFI_IS_REGISTER, CFI_X86_RSP, 16);
	expect_place(&f.pieces[2].state.fp, CFI_AT_CFA, 0, -16);
}

static void expect_broken(const uint8_t *code, size_t len)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(run(&f, code, len), -EBADMSG);
}

TEST(broken_instructions_are_refused)
{
	expect_broken(BYTES(0x0b));                         /* nothing was remembered */
	expect_broken(BYTES(0x3f));                         /* unknown */
	expect_broken(BYTES(0x0e));                         /* the operand is missing */
	expect_broken(BYTES(0x03, 1));                      /* half of it is */
	expect_broken(BYTES(0x0f, 200, 1, 0x30));           /* expression beyond the end */
	expect_broken(BYTES(0x01, 0, 0, 0, 0, 0, 0, 0, 0)); /* backwards */
	expect_broken(BYTES(0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff));
	expect_broken(BYTES(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
			    0x0a, 0x0a, 0x0a, 0x0a, 0x0a)); /* nested too deeply */
}

TEST(common_instructions_cannot_advance_or_restore)
{
	struct fixture f;
	struct cfi_state s;

	begin(&f);
	assert_int_equal(cfi_program_begin(&s, &f.coding, BYTES(0x41)), -EBADMSG);
	assert_int_equal(cfi_program_begin(&s, &f.coding, BYTES(0xc6)), -EBADMSG);
}

/* ---- expressions ---- */

TEST(expressions_of_compilers_and_linkers_are_understood)
{
	struct cfi_value v;

	v = cfi_expression_parse(BYTES(0x77, 0x08, 0x06, 0x23, 0x08));
	expect_place(&v, CFI_IS_DEREFERENCE, CFI_X86_RSP, 8);
	assert_int_equal(v.add, 8);
	v = cfi_expression_parse(BYTES(0x92, 10, 0x7f)); /* bregx r10 - 1 */
	expect_place(&v, CFI_IS_REGISTER, 10, -1);
	v = cfi_expression_parse(BYTES(0x77, 0, 0x0a, 0x00, 0x01, 0x22, 0x34, 0x1c, 0x96));
	expect_place(&v, CFI_IS_REGISTER, CFI_X86_RSP, 252); /* + const2u 256 - lit4 */
	v = cfi_expression_parse(BYTES(0x09, 0xf8, 0x76, 0, 0x22));
	expect_place(&v, CFI_IS_REGISTER, CFI_X86_RBP, -8); /* const1s -8 + */
	v = cfi_expression_parse(BYTES(0x76, 0, 0x11, 0x70, 0x22, 0x10, 2, 0x22));
	expect_place(&v, CFI_IS_REGISTER, CFI_X86_RBP, -14); /* + consts -16 + constu 2 */
	v = cfi_expression_parse(BYTES(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
	assert_int_equal(v.kind, CFI_IS_PLT);
	assert_int_equal(v.add, 11);
	/* breg7 + 56; deref; plus 0; deref; plus 8: to the stack whose pointer is in another one */
	v = cfi_expression_parse(BYTES(0x77, 56, 0x06, 0x23, 0, 0x06, 0x23, 8));
	expect_place(&v, CFI_IS_DEREFERENCED_TWICE, CFI_X86_RSP, 56);
	assert_int_equal(v.middle, 0);
	assert_int_equal(v.add, 8);
}

TEST(an_offset_does_not_replace_an_expression)
{
	/* expression: breg3 + 8; deref; plus 8, as OCaml counts a push after it; then a register */
	struct cfi_state s = state_after(BYTES(0x0f, 5, 0x73, 8, 0x06, 0x23, 8, 0x0e, 16));

	expect_place(&s.cfa, CFI_IS_DEREFERENCE, CFI_X86_RBX, 8);
	assert_int_equal(s.cfa.add, 8);
	s = state_after(BYTES(0x0f, 5, 0x73, 8, 0x06, 0x23, 8, 0x13, 0x70, 0x0c, 7, 8, 0x0e, 16));
	expect_place(&s.cfa, CFI_IS_REGISTER, CFI_X86_RSP, 16);
}

TEST(other_expressions_are_unsupported)
{
	static const struct {
		uint8_t len;
		uint8_t code[10];
	} others[] = {
		{0, {0}},                      /* empty */
		{1, {0x30}},                   /* a constant */
		{2, {0x77, 0x80}},             /* cut off */
		{4, {0x77, 0, 0x76, 0}},       /* two values */
		{5, {0x77, 0, 0x76, 0, 0x22}}, /* their sum */
		{5, {0x77, 0, 6, 6, 6}},       /* three loads */
		{1, {0x22}},                   /* nothing to add */
		{3, {0x92, 0xff, 0x01}},       /* register 255 */
		{9, {0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct cfi_value v = cfi_expression_parse(others[i].code, others[i].len);

		assert_int_equal(v.kind, CFI_UNSUPPORTED);
	}
}

/* ---- rules ---- */

static struct unwind_rule rule_after(const uint8_t *code, size_t len)
{
	struct cfi_state s = state_after(code, len);
	struct cfi_registers registers;
	struct unwind_rule rule;
	bool is_known;

	assert_true(cfi_registers_of(EM_X86_64, &registers));
	is_known = cfi_rule_of(&rule, &s, &registers, false);
	assert_int_equal(is_known, rule.base != UNWIND_CFA_UNKNOWN);
	return rule;
}

static void expect_rule(struct unwind_rule rule, unsigned base, unsigned how, unsigned cfa, int fp,
			int aux)
{
	assert_int_equal(rule.base, base);
	assert_int_equal(rule.how, how);
	assert_int_equal(rule.cfa, cfa);
	assert_int_equal(rule.fp, fp);
	assert_int_equal(rule.aux, aux);
}

TEST(states_become_rules_in_words)
{
	expect_rule(rule_after(BYTES(0)), UNWIND_CFA_SP, UNWIND_RBX_SAME, 1, 0, 0);
	expect_rule(rule_after(BYTES(0x0c, 6, 16, 0x86, 2)), UNWIND_CFA_FP,
		    UNWIND_FP_AT_CFA | UNWIND_RBX_SAME, 2, -2, 0);
	/* a frame of 512 KiB and 8 bytes */
	expect_rule(rule_after(BYTES(0x0e, 0x88, 0x80, 0x20)), UNWIND_CFA_SP, UNWIND_RBX_SAME, 1, 0,
		    1);
	/* the stack was realigned */
	expect_rule(rule_after(BYTES(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0)),
		    UNWIND_CFA_AT_FP, UNWIND_FP_AT_FP | UNWIND_RBX_SAME, 0xffff, 0, 0);
	expect_rule(rule_after(BYTES(0x0f, 5, 0x77, 16, 0x06, 0x23, 8)), UNWIND_CFA_AT_SP,
		    UNWIND_RBX_SAME, 2, 0, 1);
	/* other stacks: *(rbx + 8) + 8, *(*(rsp + 56) + 0) + 8, *(*(rsp - 8) - 16) - 8 */
	expect_rule(rule_after(BYTES(0x0f, 5, 0x73, 8, 0x06, 0x23, 8)), UNWIND_CFA_AT_RBX,
		    UNWIND_RBX_SAME, 1, 0, 1);
	expect_rule(rule_after(BYTES(0x0f, 8, 0x77, 56, 0x06, 0x23, 0, 0x06, 0x23, 8)),
		    UNWIND_CFA_AT_WORD, UNWIND_RBX_SAME, 7, 0, 1);
	expect_rule(rule_after(BYTES(0x0f, 8, 0x77, 0x78, 0x06, 0x40, 0x1c, 0x06, 0x38, 0x1c)),
		    UNWIND_CFA_AT_WORD, UNWIND_RBX_SAME, 0xffff, 0, -2 * 256 + 255);
	/* *(rsp + 8 + r9 * 8) + 8 */
	expect_rule(rule_after(BYTES(0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8)),
		    UNWIND_CFA_AT_INDEXED + 9, UNWIND_RBX_SAME, 1, 0, 1);
	expect_rule(rule_after(BYTES(0x0c, 10, 0)), UNWIND_CFA_REGISTER + 10, UNWIND_RBX_SAME, 0, 0,
		    0);
	expect_rule(rule_after(BYTES(0x07, 16)), UNWIND_CFA_END, 0, 0, 0, 0);
	expect_rule(rule_after(BYTES(0x0e, 0, 0x09, 16, 5)), UNWIND_CFA_SP,
		    UNWIND_RA_REGISTER | UNWIND_RBX_SAME, 0, 0, 5);
	expect_rule(rule_after(BYTES(0x10, 6, 2, 0x77, 0x10)), UNWIND_CFA_SP,
		    UNWIND_FP_AT_SP | UNWIND_RBX_SAME, 1, 2, 0);
	expect_rule(rule_after(BYTES(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24,
				     0x22)),
		    UNWIND_CFA_PLT, UNWIND_RBX_SAME, 10, 0, 0);
}

TEST(rules_say_where_rbx_is)
{
	/* pushed, as the last one of six registers; the CFA is 56 above */
	expect_rule(rule_after(BYTES(0x0e, 56, 0x83, 7)), UNWIND_CFA_SP, 7 * UNWIND_RBX_WORD, 7, 0,
		    0);
	expect_rule(rule_after(BYTES(0x0c, 3, 24, 0x83, 3)), UNWIND_CFA_REGISTER + UNWIND_RBX,
		    3 * UNWIND_RBX_WORD, 3, 0, 0);
	expect_rule(rule_after(BYTES(0x83, 15)), UNWIND_CFA_SP, 15 * UNWIND_RBX_WORD, 1, 0, 0);
	/* too far away, in another register, nowhere */
	expect_rule(rule_after(BYTES(0x83, 16)), UNWIND_CFA_SP, UNWIND_RBX_LOST, 1, 0, 0);
	expect_rule(rule_after(BYTES(0x83, 1)), UNWIND_CFA_SP, UNWIND_RBX_LOST, 1, 0, 0);
	expect_rule(rule_after(BYTES(0x09, 3, 12)), UNWIND_CFA_SP, UNWIND_RBX_LOST, 1, 0, 0);
	expect_rule(rule_after(BYTES(0x07, 3)), UNWIND_CFA_SP, UNWIND_RBX_LOST, 1, 0, 0);
}

TEST(states_without_a_rule_are_unknown)
{
	expect_rule(rule_after(BYTES(0x0e, 12)), UNWIND_CFA_UNKNOWN, 0, 0, 0, 0);
	expect_rule(rule_after(BYTES(0x13, 1)), UNWIND_CFA_UNKNOWN, 0, 0, 0, 0);
	expect_rule(rule_after(BYTES(0x08, 16)), UNWIND_CFA_UNKNOWN, 0, 0, 0, 0);
	expect_rule(rule_after(BYTES(0x09, 7, 8)), UNWIND_CFA_UNKNOWN, 0, 0, 0, 0);
	expect_rule(rule_after(BYTES(0x0c, 40, 8)), UNWIND_CFA_UNKNOWN, 0, 0, 0, 0);
	expect_rule(rule_after(BYTES(0x0f, 3, 0x70, 0, 0x06)), UNWIND_CFA_UNKNOWN, 0, 0, 0, 0);
	/* too far for a rule: *(*(rsp + 8) + 1024) + 8, *(*(rsp + 8)) + 1024 */
	expect_rule(rule_after(BYTES(0x0f, 9, 0x77, 8, 0x06, 0x23, 0x80, 8, 0x06, 0x23, 8)),
		    UNWIND_CFA_UNKNOWN, 0, 0, 0, 0);
	expect_rule(rule_after(BYTES(0x0f, 7, 0x77, 8, 0x06, 0x06, 0x23, 0x80, 8)),
		    UNWIND_CFA_UNKNOWN, 0, 0, 0, 0);
	/* three times, and from another register */
	expect_rule(rule_after(BYTES(0x0f, 5, 0x77, 8, 0x06, 0x06, 0x06)), UNWIND_CFA_UNKNOWN, 0, 0,
		    0, 0);
	expect_rule(rule_after(BYTES(0x0f, 4, 0x73, 8, 0x06, 0x06)), UNWIND_CFA_UNKNOWN, 0, 0, 0,
		    0);
}

/* Callers that do not need it are found. */
TEST(a_frame_pointer_whose_place_has_no_rule_is_lost)
{
	const unsigned how = UNWIND_FP_SAME | UNWIND_RBX_SAME;

	/* in another register, too far away, at another register, computed */
	expect_rule(rule_after(BYTES(0x09, 6, 9)), UNWIND_CFA_SP, how, 1, UNWIND_FP_LOST, 0);
	expect_rule(rule_after(BYTES(0x86, 0x80, 0x80, 0x04)), UNWIND_CFA_SP, how, 1,
		    UNWIND_FP_LOST, 0);
	expect_rule(rule_after(BYTES(0x10, 6, 2, 0x70, 0)), UNWIND_CFA_SP, how, 1, UNWIND_FP_LOST,
		    0);
	expect_rule(rule_after(BYTES(0x16, 6, 2, 0x77, 8)), UNWIND_CFA_SP, how, 1, UNWIND_FP_LOST,
		    0);
}

/* Assembly that changes stacks has the CIE of signals, too. */
TEST(only_the_kernels_frame_is_a_signal_frame)
{
	struct cfi_state plain = state_after(BYTES(0x0e, 16, 0x86, 2));
	struct cfi_state s = state_after(BYTES(0x0f, 4, 0x77, 0xa0, 0x01, 0x06));
	struct cfi_registers registers;
	struct unwind_rule rule;

	assert_true(cfi_registers_of(EM_X86_64, &registers));
	assert_true(cfi_rule_of(&rule, &s, &registers, true));
	assert_int_equal(rule.base, UNWIND_CFA_SIGNAL);
	s.cfa.offset = 168;
	assert_true(cfi_rule_of(&rule, &s, &registers, true));
	expect_rule(rule, UNWIND_CFA_AT_SP, UNWIND_RBX_SAME, 21, 0, 0);
	assert_true(cfi_rule_of(&rule, &plain, &registers, true));
	expect_rule(rule, UNWIND_CFA_SP, UNWIND_FP_AT_CFA | UNWIND_RBX_SAME, 2, -2, 0);
}

TEST(on_arm64_the_return_address_begins_in_its_register)
{
	struct cfi_state s = {.cfa = {.kind = CFI_IS_REGISTER, .reg = CFI_ARM64_SP}};
	struct cfi_registers registers;
	struct unwind_rule rule;

	assert_true(cfi_registers_of(EM_AARCH64, &registers));
	assert_true(cfi_rule_of(&rule, &s, &registers, false));
	expect_rule(rule, UNWIND_CFA_SP, UNWIND_RA_REGISTER, 0, 0, CFI_ARM64_LR);
	s.cfa.offset = 48;
	s.fp = (struct cfi_value){.kind = CFI_AT_CFA, .offset = -48};
	s.ra = (struct cfi_value){.kind = CFI_AT_CFA, .offset = -40};
	assert_true(cfi_rule_of(&rule, &s, &registers, false));
	expect_rule(rule, UNWIND_CFA_SP, UNWIND_FP_AT_CFA | UNWIND_RA_AT_CFA, 6, -6, -5);
	assert_true(cfi_rule_of(&rule, &s, &registers, true));
	expect_rule(rule, UNWIND_CFA_SP, UNWIND_FP_AT_CFA | UNWIND_RA_AT_CFA, 6, -6, -5);
	/* what the vDSO of older kernels says: x29 + 0, where x29 and x30 are */
	s.cfa = (struct cfi_value){.kind = CFI_IS_REGISTER, .reg = CFI_ARM64_FP};
	s.fp.offset = 0;
	s.ra.offset = 8;
	assert_true(cfi_rule_of(&rule, &s, &registers, true));
	assert_int_equal(rule.base, UNWIND_CFA_SIGNAL);
	assert_false(cfi_registers_of(EM_RISCV, &registers));
}
