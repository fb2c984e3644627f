/*
 * What call frame information says about one instruction: where the canonical frame address (CFA)
 * is, and where the caller's registers are. Facts are those of DWARF 5, section 6.4, and of the
 * processors' ABIs.
 *
 * Only the registers are kept that a walk needs: frame pointer, return address and stack pointer,
 * and on x86-64 rbx.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_STATE_H
#define NODE_AGENT_UNWIND_CFI_CFI_STATE_H

#include "common/base.h"

/* Numbers of registers in DWARF. */
#define CFI_X86_RBX 3u
#define CFI_X86_RBP 6u
#define CFI_X86_RSP 7u
#define CFI_X86_RIP 16u
#define CFI_ARM64_FP 29u
#define CFI_ARM64_LR 30u
#define CFI_ARM64_SP 31u
#define CFI_NO_REGISTER 255u

enum cfi_value_kind {
	CFI_SAME,           /* the caller's value is in the register itself */
	CFI_UNDEFINED,      /* there is no such value: of the return address, that of a caller */
	CFI_AT_CFA,         /* in memory at CFA + offset */
	CFI_IS_CFA,         /* is CFA + offset */
	CFI_IN_REGISTER,    /* in another register */
	CFI_AT_REGISTER,    /* in memory at a register + offset */
	CFI_IS_REGISTER,    /* is a register + offset */
	CFI_IS_DEREFERENCE, /* is what memory holds at a register + offset, + add */
	/* is what memory holds at (what memory holds at a register + offset) + middle, + add */
	CFI_IS_DEREFERENCED_TWICE,
	CFI_IS_INDEXED, /* is what memory holds at rsp + offset + 8 * register, + add */
	CFI_IS_PLT,     /* is rsp + 8, or rsp + 16 from offset `add` of each 16-byte stub on */
	CFI_UNSUPPORTED,
};

struct cfi_value {
	enum cfi_value_kind kind;
	uint8_t reg;
	int64_t offset;
	int64_t add;
	int64_t middle;
};

struct cfi_state {
	struct cfi_value cfa; /* CFI_IS_… or CFI_UNSUPPORTED */
	struct cfi_value fp;
	struct cfi_value ra;
	struct cfi_value sp; /* CFI_SAME: the caller's stack pointer is the CFA */
	struct cfi_value rbx;
};

/* Which registers of a machine are kept. */
struct cfi_registers {
	uint8_t fp;
	uint8_t ra; /* column of the return address; the link register on arm64 */
	uint8_t sp;
	uint8_t rbx; /* CFI_NO_REGISTER: the machine has none */
};

/* Returns false for a machine (EM_…) that is not supported. */
bool cfi_registers_of(uint16_t machine, struct cfi_registers *ret);

/*
 * What an expression computes, of those forms that compilers and linkers write; otherwise
 * CFI_UNSUPPORTED. The kind is CFI_IS_REGISTER, CFI_IS_DEREFERENCE, CFI_IS_DEREFERENCED_TWICE,
 * CFI_IS_INDEXED or CFI_IS_PLT.
 */
struct cfi_value cfi_expression_parse(const uint8_t *expr, size_t len);

#endif /* NODE_AGENT_UNWIND_CFI_CFI_STATE_H */
