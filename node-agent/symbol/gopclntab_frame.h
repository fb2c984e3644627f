/*
 * How large the stack frame of a Go function is at an instruction, from .gopclntab: what is needed to
 * find its caller. Pure.
 */
#ifndef NODE_AGENT_SYMBOL_GOPCLNTAB_FRAME_H
#define NODE_AGENT_SYMBOL_GOPCLNTAB_FRAME_H

#include "common/base.h"
#include "node-agent/symbol/gopclntab.h"

#define GOPCLNTAB_FRAME_NAME_BYTES 256u

/* Flags of functions (internal/abi/symtab.go); since 1.17, never set before. */
#define GOPCLNTAB_TOP_FRAME 1u /* nothing called it */
#define GOPCLNTAB_SP_WRITE 2u  /* it moves the stack pointer in ways that no table says */

struct gopclntab_frame {
	uint64_t start;                        /* of the function */
	int32_t bytes;                         /* that it has pushed; -1: unknown */
	uint8_t flags;                         /* GOPCLNTAB_… */
	char name[GOPCLNTAB_FRAME_NAME_BYTES]; /* not of inlined functions; "": longer */
};

/*
 * Before the instruction at this address is executed; at a return address that is as at the call.
 * 0; -ENOENT: no function, or its record is broken; -ENODATA, -EIO …: cannot be read.
 */
int gopclntab_find_frame(const struct gopclntab *t, const struct byte_source *src, uint64_t address,
			 struct gopclntab_frame *ret) MUST_CHECK;

#endif /* NODE_AGENT_SYMBOL_GOPCLNTAB_FRAME_H */
