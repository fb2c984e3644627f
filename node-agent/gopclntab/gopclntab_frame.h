/*
 * The size of a Go function's stack frame at an instruction, from .gopclntab: an unwinder finds the
 * caller by it. Pure.
 */
#ifndef NODE_AGENT_GOPCLNTAB_GOPCLNTAB_FRAME_H
#define NODE_AGENT_GOPCLNTAB_GOPCLNTAB_FRAME_H

#include "common/base.h"
#include "node-agent/gopclntab/gopclntab.h"

#define GOPCLNTAB_FRAME_NAME_BYTES 256u

/* Flags of functions (internal/abi/symtab.go); since 1.17, never set before. */
#define GOPCLNTAB_TOP_FRAME 1u /* has no caller */
#define GOPCLNTAB_SP_WRITE 2u  /* moves the stack pointer in ways that are in no table */

struct gopclntab_frame {
	uint64_t start;                        /* of the function */
	int32_t bytes;                         /* pushed so far; -1: unknown */
	uint8_t flags;                         /* GOPCLNTAB_… */
	char name[GOPCLNTAB_FRAME_NAME_BYTES]; /* not of an inlined function; "": too long */
};

/*
 * Finds the frame as it is before the instruction at this address is executed; at a return
 * address that is the same as at the call. Returns 0, -ENOENT if there is no function or its
 * record is broken, or -ENODATA, -EIO and others if it cannot be read.
 */
int gopclntab_find_frame(const struct gopclntab *t, const struct byte_source *src, uint64_t address,
			 struct gopclntab_frame *ret) MUST_CHECK;

#endif /* NODE_AGENT_GOPCLNTAB_GOPCLNTAB_FRAME_H */
