/*
 * Source lines and inlined calls of Go code, from .gopclntab and the inline trees that its
 * functions point to. Pure.
 *
 * Facts are those of the Go runtime (runtime/symtab.go, symtabinl.go): tables of values by
 * address are delta-encoded; the tree of a function has, for an index, which function was inlined
 * and at which address of the surrounding function the call is. Since 1.18 the trees are found
 * relative to moduledata.gofunc. Before, they have addresses, which are relocated in
 * position-independent programs and then only right in the memory of a process.
 */
#ifndef NODE_AGENT_GOPCLNTAB_GOPCLNTAB_LINE_H
#define NODE_AGENT_GOPCLNTAB_GOPCLNTAB_LINE_H

#include "common/base.h"
#include "node-agent/gopclntab/gopclntab.h"

#define GOPCLNTAB_TEXT_BYTES 1024u /* of a name or a file; longer ones count as unknown */

struct gopclntab_trees {
	const struct byte_source *memory; /* of a process, or a file; borrowed; read at addresses */
	uint64_t gofunc;                  /* moduledata.gofunc; unused before 1.18 */
};

struct gopclntab_line {
	char name[GOPCLNTAB_TEXT_BYTES]; /* the innermost function, inlined or not */
	char file[GOPCLNTAB_TEXT_BYTES]; /* "": unknown */
	uint32_t line;                   /* 0: unknown */
	uint32_t start_line; /* of the function's declaration; 0: unknown, as before Go 1.20 */
	uint8_t id;          /* funcID: marks functions that the runtime treats specially */
	uint64_t caller;     /* address of the call that was inlined; 0: not inlined */
};

/*
 * Finds the function, file and line of the instruction at this address. Returns 0, -ENOENT if
 * there is no function or its record is broken, or -ENODATA, -EIO and others if it cannot be
 * read.
 */
int gopclntab_find_line(const struct gopclntab *t, const struct byte_source *src,
			const struct gopclntab_trees *trees, uint64_t address,
			struct gopclntab_line *ret) MUST_CHECK;

/*
 * Makes the texts, which the program chooses, fit for a profile and a terminal: printable, and with
 * '_' for blanks in the file.
 */
void gopclntab_line_clean(struct gopclntab_line *line);

struct gopclntab_record;

/* The same for an address of a function that has been found (gopclntab_record.h). */
int gopclntab_line_of_record(const struct gopclntab_record *r, const struct gopclntab_trees *trees,
			     uint64_t address, struct gopclntab_line *ret) MUST_CHECK;

#endif /* NODE_AGENT_GOPCLNTAB_GOPCLNTAB_LINE_H */
