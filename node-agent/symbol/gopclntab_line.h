/*
 * Source lines and inlined calls of Go code, from .gopclntab and the inline trees that its
 * functions point to. Pure.
 *
 * Facts are those of the Go runtime (runtime/symtab.go, symtabinl.go): tables of values by
 * address are delta-encoded; the tree of a function says for an index which function was inlined
 * there and at which address of the function around it the call is. Since 1.18 the trees are
 * found from moduledata.gofunc, before by addresses, which are relocated in position-independent programs: then only the
 * memory of a process has them.
 */
#ifndef NODE_AGENT_SYMBOL_GOPCLNTAB_LINE_H
#define NODE_AGENT_SYMBOL_GOPCLNTAB_LINE_H

#include "common/base.h"
#include "node-agent/symbol/gopclntab.h"

#define GOPCLNTAB_TEXT_BYTES 1024u /* of a name or a file; longer ones are not given */

struct gopclntab_trees {
	const struct byte_source *memory; /* or a file; borrowed; offsets are addresses */
	uint64_t gofunc;                  /* moduledata.gofunc; unused before 1.18 */
};

struct gopclntab_line {
	char name[GOPCLNTAB_TEXT_BYTES]; /* the innermost function, inlined or not */
	char file[GOPCLNTAB_TEXT_BYTES]; /* "" unknown */
	uint32_t line;                   /* 0: unknown */
	uint8_t id; /* that the runtime gives to functions it treats specially (funcID) */
	uint64_t
		caller; /* address in the function around that this is inlined into; 0: not inlined */
};

/*
 * What is at the instruction that has this address. 0; -ENOENT: no function, or its record is
 * broken; -ENODATA, -EIO …: cannot be read.
 */
int gopclntab_find_line(const struct gopclntab *t, const struct byte_source *src,
			const struct gopclntab_trees *trees, uint64_t address,
			struct gopclntab_line *ret) MUST_CHECK;

#endif /* NODE_AGENT_SYMBOL_GOPCLNTAB_LINE_H */
