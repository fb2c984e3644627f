/*
 * Where assembly functions of a Go program have their caller, for a walk by frame pointers that
 * begins in one of them. Pure.
 *
 * The compiler keeps the frame pointer in BP; assembly may use BP for anything while it calls
 * nothing. md5, sha1 and sha512 do, and spend all their time there. Functions without a frame
 * do not save BP, so that the walk misses their caller. For both, the table of frame sizes says how
 * far from the stack pointer the return address is.
 */
#ifndef NODE_AGENT_GOPCLNTAB_GOPCLNTAB_ASSEMBLY_H
#define NODE_AGENT_GOPCLNTAB_GOPCLNTAB_ASSEMBLY_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/gopclntab/gopclntab.h"
#include "node-agent/gopclntab/gopclntab_line.h"

/* A piece of code; addresses as in the file. */
struct gopclntab_assembly {
	uint64_t start;
	uint64_t end;
	/*
	 * How far above the stack pointer the return address is. Unless it is 0, the caller's frame
	 * pointer is saved in the word below; otherwise it is in its register.
	 */
	uint32_t frame_bytes;
};

#define GOPCLNTAB_ASSEMBLY_FRAME_MAX 65536u
/* All reads together, as byte_source_with_budget() counts them. */
#define GOPCLNTAB_ASSEMBLY_MAX_BYTES UINT64_C(268435456)

/*
 * Stores the ranges of all such code, ascending and disjoint. Only for x86-64: none otherwise.
 * Functions that move the stack pointer in ways that are in no table are left out, and code whose
 * frame pointer is not saved as expected. Returns their number, at most max; -ENOMEM; -EFBIG if
 * more than GOPCLNTAB_ASSEMBLY_MAX_BYTES would be read; or an error of gopclntab_visit().
 */
int gopclntab_assembly(const struct gopclntab *t, const struct elf_layout *layout,
		       const struct byte_source *src, struct gopclntab_assembly *ranges,
		       size_t max) MUST_CHECK;

/*
 * Whether the file of a function ends with ".s". *line is what is known of it. Before 1.18, when
 * functions have no flag; compiled ones may have as few tables of values.
 */
bool gopclntab_is_in_assembly(const struct gopclntab *t, const struct byte_source *src,
			      const struct gopclntab_function *f, struct gopclntab_line *line);

#endif /* NODE_AGENT_GOPCLNTAB_GOPCLNTAB_ASSEMBLY_H */
