/*
 * All offsets of a rule are in words. Code that keeps its frame at other distances does not exist:
 * on both machines, what is pushed has 8 bytes.
 *
 * A frame pointer that the caller does not have (CFI_UNDEFINED) is taken to be in its register:
 * callers that need it say where it is.
 */
#include "node-agent/unwind/cfi/cfi_rule.h"

#include <elf.h>

/* Where Linux puts the stack pointer into the frame of a signal handler, as glibc describes it. */
#define X86_SIGNAL_RSP 160

const struct unwind_rule cfi_signal_rule = {.base = UNWIND_CFA_SIGNAL};

static bool to_words(int64_t bytes, int64_t min, int64_t max, int64_t *ret)
{
	*ret = bytes / UNWIND_WORD_BYTES;
	return bytes % UNWIND_WORD_BYTES == 0 && *ret >= min && *ret <= max;
}

static bool to_s16(int64_t bytes, __s16 *ret)
{
	int64_t words;

	if (!to_words(bytes, INT16_MIN, INT16_MAX, &words))
		return false;
	*ret = (__s16)words;
	return true;
}

/* The place of the frame pointer. Where no rule says it, callers that do not need it are found. */
static void set_fp(struct unwind_rule *rule, const struct cfi_value *fp,
		   const struct cfi_registers *registers)
{
	switch (fp->kind) {
	case CFI_SAME:
	case CFI_UNDEFINED:
		rule->how |= UNWIND_FP_SAME;
		return;
	case CFI_AT_CFA:
		rule->how |= UNWIND_FP_AT_CFA;
		break;
	case CFI_AT_REGISTER:
		if (fp->reg != registers->fp && fp->reg != registers->sp) {
			rule->fp = UNWIND_FP_LOST;
			return;
		}
		rule->how |= fp->reg == registers->fp ? UNWIND_FP_AT_FP : UNWIND_FP_AT_SP;
		break;
	default:
		rule->fp = UNWIND_FP_LOST;
		return;
	}
	if (!to_s16(fp->offset, &rule->fp)) {
		rule->how &= (__u8)~UNWIND_FP_MASK;
		rule->fp = UNWIND_FP_LOST;
	}
}

/* The place of rbx, where compilers save it: not far below the CFA. */
static void set_rbx(struct unwind_rule *rule, const struct cfi_value *rbx,
		    const struct cfi_registers *registers)
{
	int64_t words;

	if (registers->rbx == CFI_NO_REGISTER)
		return;
	if (rbx->kind == CFI_SAME)
		rule->how |= UNWIND_RBX_SAME;
	else if (rbx->kind == CFI_AT_CFA && to_words(rbx->offset, -15, -2, &words))
		rule->how |= (__u8)(-words * UNWIND_RBX_WORD);
}

/* The place of the return address; uses aux, unless it is the usual one. */
static bool set_ra(struct unwind_rule *rule, const struct cfi_value *ra,
		   const struct cfi_registers *registers)
{
	switch (ra->kind) {
	case CFI_AT_CFA:
		if (ra->offset == -UNWIND_WORD_BYTES) {
			rule->how |= UNWIND_RA_BELOW_CFA;
			return true;
		}
		rule->how |= UNWIND_RA_AT_CFA;
		return to_s16(ra->offset, &rule->aux);
	case CFI_IN_REGISTER:
		rule->how |= UNWIND_RA_REGISTER;
		rule->aux = ra->reg;
		return true;
	case CFI_SAME: /* where the call left it; x86-64 has no such register */
		rule->how |= UNWIND_RA_REGISTER;
		rule->aux = registers->ra;
		return registers->sp == CFI_ARM64_SP;
	default:
		return false;
	}
}

static bool set_cfa_register(struct unwind_rule *rule, const struct cfi_value *cfa,
			     const struct cfi_registers *registers)
{
	bool is_wide = (rule->how & UNWIND_RA_MASK) == UNWIND_RA_BELOW_CFA;
	int64_t words;

	if (cfa->reg == registers->sp || cfa->reg == registers->fp) {
		rule->base = cfa->reg == registers->sp ? UNWIND_CFA_SP : UNWIND_CFA_FP;
		if (!to_words(cfa->offset, 0, is_wide ? INT32_MAX : UINT16_MAX, &words))
			return false;
		rule->cfa = (__u16)words;
		if (is_wide)
			rule->aux = (__s16)(words >> 16);
		return true;
	}
	if (cfa->reg > CFI_ARM64_SP || !to_words(cfa->offset, 0, UINT16_MAX, &words))
		return false;
	rule->base = (__u8)(UNWIND_CFA_REGISTER + cfa->reg);
	rule->cfa = (__u16)words;
	return true;
}

/* From a word at a register, which may be where the other stack is. */
static bool set_cfa_at(struct unwind_rule *rule, const struct cfi_value *cfa,
		       const struct cfi_registers *registers)
{
	int64_t words;

	if (cfa->reg == registers->sp)
		rule->base = UNWIND_CFA_AT_SP;
	else if (cfa->reg == registers->fp)
		rule->base = UNWIND_CFA_AT_FP;
	else if (cfa->reg == registers->rbx)
		rule->base = UNWIND_CFA_AT_RBX;
	else
		return false;
	if (!to_words(cfa->offset, INT16_MIN, INT16_MAX, &words))
		return false;
	rule->cfa = (__u16)words;
	return to_s16(cfa->add, &rule->aux);
}

static bool set_cfa_at_word(struct unwind_rule *rule, const struct cfi_value *cfa,
			    const struct cfi_registers *registers)
{
	int64_t words, middle, add;

	if (cfa->reg != registers->sp || !to_words(cfa->offset, INT16_MIN, INT16_MAX, &words) ||
	    !to_words(cfa->middle, INT8_MIN, INT8_MAX, &middle) ||
	    !to_words(cfa->add, INT8_MIN, INT8_MAX, &add))
		return false;
	rule->base = UNWIND_CFA_AT_WORD;
	rule->cfa = (__u16)words;
	rule->aux = (__s16)(middle * 256 + (uint8_t)add);
	return true;
}

static bool set_cfa(struct unwind_rule *rule, const struct cfi_value *cfa,
		    const struct cfi_registers *registers)
{
	bool is_plain = (rule->how & UNWIND_RA_MASK) == UNWIND_RA_BELOW_CFA;
	int64_t words;

	switch (cfa->kind) {
	case CFI_IS_REGISTER:
		return set_cfa_register(rule, cfa, registers);
	case CFI_IS_DEREFERENCE:
		return is_plain && set_cfa_at(rule, cfa, registers);
	case CFI_IS_DEREFERENCED_TWICE:
		return is_plain && set_cfa_at_word(rule, cfa, registers);
	case CFI_IS_INDEXED:
		if (!is_plain || registers->sp != CFI_X86_RSP ||
		    !to_words(cfa->offset, INT16_MIN, INT16_MAX, &words))
			return false;
		rule->base = (__u8)(UNWIND_CFA_AT_INDEXED + cfa->reg);
		rule->cfa = (__u16)words;
		return to_s16(cfa->add, &rule->aux);
	case CFI_IS_PLT:
		rule->base = UNWIND_CFA_PLT;
		rule->cfa = (__u16)cfa->add;
		return is_plain && registers->sp == CFI_X86_RSP;
	default:
		return false;
	}
}

/*
 * The frame of a signal handler, from which the kernel restores all registers. A CIE for signals
 * alone does not make one: assembly that changes stacks, as OCaml's runtime does, has it as well,
 * and is described as any other code.
 */
static bool is_signal_frame(const struct cfi_state *s, const struct cfi_registers *registers)
{
	const struct cfi_value *cfa = &s->cfa;

	if (registers->sp == CFI_ARM64_SP)
		return cfa->kind == CFI_IS_REGISTER && cfa->reg == registers->fp &&
		       cfa->offset == 0 && s->fp.kind == CFI_AT_CFA && s->fp.offset == 0;
	return cfa->kind == CFI_IS_DEREFERENCE && cfa->reg == CFI_X86_RSP &&
	       cfa->offset == X86_SIGNAL_RSP && cfa->add == 0;
}

static bool set_rule(struct unwind_rule *rule, const struct cfi_state *s,
		     const struct cfi_registers *registers, bool is_signal)
{
	if (s->ra.kind == CFI_UNDEFINED) {
		rule->base = UNWIND_CFA_END;
		return true;
	}
	if (is_signal && is_signal_frame(s, registers)) {
		rule->base = UNWIND_CFA_SIGNAL;
		return true;
	}
	/* a caller whose stack pointer is not the CFA */
	if (s->sp.kind != CFI_SAME && (s->sp.kind != CFI_IS_CFA || s->sp.offset != 0))
		return false;
	set_rbx(rule, &s->rbx, registers);
	set_fp(rule, &s->fp, registers);
	return set_ra(rule, &s->ra, registers) && set_cfa(rule, &s->cfa, registers);
}

bool cfi_rule_of(struct unwind_rule *ret, const struct cfi_state *s,
		 const struct cfi_registers *registers, bool is_signal)
{
	static const struct unwind_rule unknown = {.base = UNWIND_CFA_UNKNOWN};
	struct unwind_rule rule = unknown;
	bool is_known = set_rule(&rule, s, registers, is_signal);

	*ret = is_known ? rule : unknown;
	return is_known;
}

bool cfi_registers_of(uint16_t machine, struct cfi_registers *ret)
{
	switch (machine) {
	case EM_X86_64:
		*ret = (struct cfi_registers){CFI_X86_RBP, CFI_X86_RIP, CFI_X86_RSP, CFI_X86_RBX};
		return true;
	case EM_AARCH64:
		*ret = (struct cfi_registers){CFI_ARM64_FP, CFI_ARM64_LR, CFI_ARM64_SP,
					      CFI_NO_REGISTER};
		return true;
	default:
		return false;
	}
}
