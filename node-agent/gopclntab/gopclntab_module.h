/*
 * The module data of a Go program (runtime.moduledata) as its file has them: what of .gopclntab
 * cannot be understood without. Pure.
 *
 * Source: runtime/symtab.go, 1.16 to 1.27.
 */
#ifndef NODE_AGENT_GOPCLNTAB_GOPCLNTAB_MODULE_H
#define NODE_AGENT_GOPCLNTAB_GOPCLNTAB_MODULE_H

#include "common/base.h"
#include "node-agent/gopclntab/gopclntab.h"

#define GOPCLNTAB_POINTER_BYTES UINT64_C(8)

/* Indexes of words of the module data since 1.16; before, they are ten less. */
#define GOPCLNTAB_MODULE_HEADER 0u  /* address of the table */
#define GOPCLNTAB_MODULE_MIN_PC 20u /* followed by maxpc, text and etext */
#define GOPCLNTAB_MODULE_TEXT 22u

/*
 * Calls fn for every n_words words in the data of a segment that may be the first ones of the
 * module data, until it returns true. Returns 0, -ENOENT if it never does, -ENOMEM, or -EIO and
 * others if the file cannot be read.
 */
typedef bool gopclntab_module_fn(void *ctx, const uint64_t *words);
int gopclntab_module_scan(const struct byte_source *src, const struct elf_segment *segment,
			  size_t n_words, gopclntab_module_fn *fn, void *ctx) MUST_CHECK;

/*
 * Reads a pointer in the file's data as it would be at run time with the load address 0: before or
 * after its relocation.
 */
int gopclntab_read_pointer(const struct elf_layout *layout, const struct byte_source *src,
			   uint64_t vaddr, uint64_t *ret) MUST_CHECK;
/* Reads the number that the dynamic linker stores at vaddr, without the load address it adds. */
int gopclntab_read_relocation(const struct elf_layout *layout, const struct byte_source *src,
			      uint64_t vaddr, uint64_t *ret) MUST_CHECK;

/*
 * Finds moduledata.gofunc, which inline trees are relative to since 1.18; *ret is 0 before. Reads
 * at most as much as gopclntab_open(). Returns 0, -ENOENT if the module data are not found, or
 * errors as above.
 */
int gopclntab_find_gofunc(const struct gopclntab *t, const struct elf_layout *layout,
			  const struct byte_source *src, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GOPCLNTAB_GOPCLNTAB_MODULE_H */
