/*
 * Function names of Go binaries from .gopclntab, which survives stripping. Pure.
 *
 * Facts are those of the Go linker (cmd/link/internal/ld/pcln.go) and runtime (symtab.go):
 * four layouts, told apart by the magic number of Go 1.2, 1.16, 1.18 and 1.20. The table of
 * functions in it is sorted, so it is searched where it lies, by reads, and costs no memory.
 *
 * Since 1.18 addresses in it are relative to the text start in its header; Go 1.26 and newer
 * leave that 0. Then it is, in this order: the header's relocation (a position-independent file
 * made by an external linker); the symbol runtime.text; the field of the module
 * data in .go.module (with its relocation in a position-independent file); the address of
 * .text, if the functions fill that section and nothing else (C code) can be in it. None of
 * them: the table is not used.
 */
#ifndef NODE_AGENT_SYMBOL_GOPCLNTAB_H
#define NODE_AGENT_SYMBOL_GOPCLNTAB_H

#include "common/base.h"
#include "node-agent/elf/elf_layout.h"

enum gopclntab_version {
	GOPCLNTAB_1_2,
	GOPCLNTAB_1_16,
	GOPCLNTAB_1_18,
	GOPCLNTAB_1_20,
};

struct gopclntab {
	uint64_t offset; /* of the table in the file */
	uint64_t vaddr;
	uint64_t size_bytes;
	uint64_t functions_offset; /* of the sorted table of functions, within the table */
	uint64_t names_offset;     /* of the names, within the table */
	uint64_t units_offset;     /* of the compilation units' file numbers; 0 before 1.16 */
	uint64_t files_offset;     /* of the file names; before 1.16 of their offsets */
	uint64_t values_offset;    /* what the offsets of values by address count from */
	uint64_t n_functions;
	uint64_t text_start; /* added to the addresses; 0 before 1.18 */
	uint64_t first;      /* address of the first function */
	uint64_t end;        /* and the end of the last */
	enum gopclntab_version version;
	uint8_t quantum; /* bytes that the shortest instruction has */
};

/*
 * 0; -ENOENT: the file has none, or where its text starts cannot be told for sure; -ENODATA,
 * -EIO …: cannot be read. Looks for the magic number in the read-only data of Go files whose
 * section was merged into another by an external linker, in GOPCLNTAB_SCAN_MAX_BYTES at most.
 */
#define GOPCLNTAB_SCAN_MAX_BYTES UINT64_C(67108864)
int gopclntab_open(struct gopclntab *ret, const struct elf_layout *layout,
		   const struct byte_source *src) MUST_CHECK;

/*
 * A table whose place is known: in the memory of a process src is that memory, offset is the
 * table's address, and text_start (moduledata.text) is used whatever the header says. Results as
 * above.
 */
int gopclntab_open_at(struct gopclntab *ret, const struct byte_source *src, uint64_t offset,
		      uint64_t size_bytes, uint64_t text_start) MUST_CHECK;

/* Whether vaddr lies in Go's part of the text: C code of the same binary does not. */
static inline bool gopclntab_covers(const struct gopclntab *t, uint64_t vaddr)
{
	return vaddr >= t->first && vaddr < t->end;
}

/*
 * Name of the function that has vaddr, NUL-terminated, at most cap - 1 bytes. 0; -ENOENT: none,
 * broken or longer; -ENODATA, -EIO …: cannot be read.
 */
int gopclntab_find(const struct gopclntab *t, const struct byte_source *src, uint64_t vaddr,
		   char *name, size_t cap) MUST_CHECK;

/* One function's record; offsets are within the table, 0 where the format has no such thing. */
struct gopclntab_function {
	uint64_t start;
	uint64_t end;
	uint64_t name_offset;
	uint64_t record_offset;
};

/* The function that has vaddr. Results as of gopclntab_find(). */
int gopclntab_find_function(const struct gopclntab *t, const struct byte_source *src,
			    uint64_t vaddr, struct gopclntab_function *ret) MUST_CHECK;

/*
 * The function of this name: reads the whole table. Results as of gopclntab_find(); -EFBIG: more
 * than GOPCLNTAB_NAMED_MAX_BYTES would have to be read; those of large programs have a tenth of it.
 */
#define GOPCLNTAB_NAMED_MAX_BYTES UINT64_C(268435456)
int gopclntab_find_named(const struct gopclntab *t, const struct byte_source *src, const char *name,
			 struct gopclntab_function *ret) MUST_CHECK;

/* len bytes at offset in the table. -ENOENT: not within it; -ENODATA, -EIO …: cannot be read. */
int gopclntab_read(const struct gopclntab *t, const struct byte_source *src, uint64_t offset,
		   void *to, size_t len) MUST_CHECK;

#endif /* NODE_AGENT_SYMBOL_GOPCLNTAB_H */
