/*
 * Executes call frame instructions (DWARF 5, section 6.4.2, and GNU's and Arm's own). Pure.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_PROGRAM_H
#define NODE_AGENT_UNWIND_CFI_CFI_PROGRAM_H

#include "common/base.h"
#include "node-agent/unwind/cfi/cfi_state.h"

/* What the common part (CIE) of descriptions says about the encoding of instructions. */
struct cfi_coding {
	struct cfi_registers registers;
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointers; /* encoding of addresses */
};

/* Called for the pieces of a function's code, in order. */
typedef int cfi_state_fn(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s);

/*
 * Executes the instructions of a CIE: *ret is the state at the start of each of its functions.
 * Returns 0, or -EBADMSG if they are broken.
 */
int cfi_program_begin(struct cfi_state *ret, const struct cfi_coding *coding, const uint8_t *code,
		      size_t len) MUST_CHECK;

/*
 * Executes the instructions of the function from start to end. Returns 0, -EBADMSG if they are
 * broken (then fn was called for the code before), or the first result of fn that is not 0.
 */
struct cfi_function {
	uint64_t start;
	uint64_t end;
	const uint8_t *code; /* instructions */
	size_t len;
	uint64_t code_vaddr; /* their own address */
};
int cfi_program_run(const struct cfi_function *f, const struct cfi_coding *coding,
		    const struct cfi_state *initial, cfi_state_fn *fn, void *ctx) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_PROGRAM_H */
