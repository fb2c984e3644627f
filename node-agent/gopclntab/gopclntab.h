/*
 * Function names of Go binaries from .gopclntab, which survives stripping. Pure.
 *
 * Facts are those of the Go linker (cmd/link/internal/ld/pcln.go) and runtime (symtab.go):
 * four layouts, distinguished by the magic numbers of Go 1.2, 1.16, 1.18 and 1.20. The table of
 * functions in it is sorted, so it is searched in the file itself, by reads, and costs no memory.
 *
 * Since 1.18 addresses in it are relative to the start of the text, which the header has; Go 1.26
 * and newer leave that field 0. The start is then taken from the first of these that exists: the
 * header's relocation (a position-independent file made by an external linker); the symbol
 * runtime.text; the field of the module data in .go.module (with its relocation in a
 * position-independent file); the address of .text, if Go's functions fill that section, so that
 * there is no C code in it. Without any of them the table is not used.
 */
#ifndef NODE_AGENT_GOPCLNTAB_GOPCLNTAB_H
#define NODE_AGENT_GOPCLNTAB_GOPCLNTAB_H

#include "common/base.h"
#include "common/elf/elf_layout.h"

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
	uint64_t values_offset;    /* base of the offsets of values by address */
	uint64_t n_functions;
	uint64_t text_start; /* added to the addresses; 0 before 1.18 */
	uint64_t first;      /* address of the first function */
	uint64_t end;        /* end of the last one */
	enum gopclntab_version version;
	uint8_t quantum; /* bytes of the shortest instruction */
};

/*
 * Finds the table of a file. If an external linker merged its section into another, or the file
 * has no section headers, the magic number is searched for (gopclntab_place.c), in
 * GOPCLNTAB_SCAN_MAX_BYTES at most. All reads together cost at most GOPCLNTAB_OPEN_MAX_BYTES, as
 * byte_source_with_budget() counts them. Returns 0, -ENOENT if the file has no table within these
 * limits or the start of its text is uncertain, or -ENODATA, -EIO and others if the file cannot be
 * read.
 */
#define GOPCLNTAB_SCAN_MAX_BYTES UINT64_C(67108864)
#define GOPCLNTAB_OPEN_MAX_BYTES (GOPCLNTAB_SCAN_MAX_BYTES * 3)
int gopclntab_open(struct gopclntab *ret, const struct elf_layout *layout,
		   const struct byte_source *src) MUST_CHECK;

/*
 * Opens a table whose place is known. If that is the memory of a process, src is that memory
 * and offset the table's address. text_start is moduledata.text and replaces the header's.
 * Results as above.
 */
int gopclntab_open_at(struct gopclntab *ret, const struct byte_source *src, uint64_t offset,
		      uint64_t size_bytes, uint64_t text_start) MUST_CHECK;

/* Whether vaddr lies in Go's part of the text: C code of the same binary does not. */
static inline bool gopclntab_covers(const struct gopclntab *t, uint64_t vaddr)
{
	return vaddr >= t->first && vaddr < t->end;
}

/*
 * Stores the name of the function that contains vaddr, NUL-terminated, at most cap - 1 bytes.
 * Returns 0; -ENOENT if there is none, it is broken or its name longer; or -ENODATA, -EIO and
 * others if it cannot be read.
 */
int gopclntab_find(const struct gopclntab *t, const struct byte_source *src, uint64_t vaddr,
		   char *name, size_t cap) MUST_CHECK;

/* One function; offsets are within the table, and 0 if the format has no such thing. */
struct gopclntab_function {
	uint64_t start;
	uint64_t end;
	uint64_t name_offset;
	uint64_t record_offset;
};

/* Finds the function that contains vaddr. Results as of gopclntab_find(). */
int gopclntab_find_function(const struct gopclntab *t, const struct byte_source *src,
			    uint64_t vaddr, struct gopclntab_function *ret) MUST_CHECK;

/*
 * Finds the function with this name by reading the whole table. Results as of
 * gopclntab_find(), or -EFBIG if that would take more than GOPCLNTAB_NAMED_MAX_BYTES, ten
 * times the table of a large program.
 */
#define GOPCLNTAB_NAMED_MAX_BYTES UINT64_C(268435456)
int gopclntab_find_named(const struct gopclntab *t, const struct byte_source *src, const char *name,
			 struct gopclntab_function *ret) MUST_CHECK;

/*
 * Calls fn for every function, in the order of addresses, with the first record_bytes bytes of its
 * record; those whose record is shorter are left out. Functions are in order of address, and so
 * mostly are their records: both are read in large pieces. Stops if fn does not return 0, and
 * returns what it returned. Other results are those of gopclntab_find_named().
 */
typedef int gopclntab_visit_fn(void *ctx, uint64_t index, const uint8_t *record);
int gopclntab_visit(const struct gopclntab *t, const struct byte_source *src, size_t record_bytes,
		    gopclntab_visit_fn *fn, void *ctx) MUST_CHECK;

/* The function with this index. Results as of gopclntab_find(). */
int gopclntab_function_at(const struct gopclntab *t, const struct byte_source *src, uint64_t index,
			  struct gopclntab_function *ret) MUST_CHECK;

/*
 * Reads len bytes at offset in the table. Returns 0, -ENOENT if they are not within it, or
 * -ENODATA, -EIO and others.
 */
int gopclntab_read(const struct gopclntab *t, const struct byte_source *src, uint64_t offset,
		   void *to, size_t len) MUST_CHECK;

#endif /* NODE_AGENT_GOPCLNTAB_GOPCLNTAB_H */
