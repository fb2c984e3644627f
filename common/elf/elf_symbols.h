/*
 * The functions of an ELF file by address: a table of 12 bytes per symbol. Pure.
 *
 * Names are not kept: an entry has the index of its symbol, and the name is read from the file
 * when an address is looked up. The file may change in between, so a symbol is only used if it
 * still has the address that the table has. The worst that a hostile file can achieve is wrong
 * names for its own functions.
 *
 * Symbols in the table: types FUNC and GNU_IFUNC in executable segments, and NOTYPE in
 * executable sections (entry points in assembler), of both .symtab and .dynsym.
 *
 * The reach of a symbol: its size, never more, and never beyond its section. A symbol of size 0
 * reaches to the next symbol or the end of its section, at most ELF_SYMBOLS_SIZELESS_MAX_BYTES; in
 * a stripped file, where the next function may have no symbol, only its own address. A symbol with
 * a size wins over a label without one inside it, and an inner symbol over an outer one.
 *
 * The choice among several names of one address: any other before a local one, then fewer
 * leading underscores (read, not __read), then global before weak, then the shorter one, then
 * the alphabet.
 */
#ifndef COMMON_ELF_ELF_SYMBOLS_H
#define COMMON_ELF_ELF_SYMBOLS_H

#include "common/base.h"
#include "common/elf/elf_layout.h"

#define ELF_SYMBOLS_SIZELESS_MAX_BYTES 4096u

struct elf_symbol_table; /* opaque; immutable */

/*
 * Makes the table of the whole file if that fits into max_bytes, else of as large a part
 * around the address as fits. A file without symbols has an empty table. Returns 0, and the
 * caller owns *ret; -ENOMEM; -EFBIG if not even a small part fits; or -ENODATA, -EIO and
 * others if the file cannot be read.
 */
int elf_symbol_table_new(struct elf_symbol_table **ret, const struct elf_layout *layout,
			 const struct byte_source *src, uint64_t around,
			 size_t max_bytes) MUST_CHECK;
void elf_symbol_table_free(struct elf_symbol_table *t);
DEFINE_CLEANUP(struct elf_symbol_table *, elf_symbol_table_free);

/* Whether the table is for a part of the file that contains this address. */
bool elf_symbol_table_covers(const struct elf_symbol_table *t, uint64_t vaddr);
size_t elf_symbol_table_bytes(const struct elf_symbol_table *t);
size_t elf_symbol_table_count(const struct elf_symbol_table *t);

/* Where entry i, in the order of addresses, begins and ends; others may lie within it. */
void elf_symbol_table_range(const struct elf_symbol_table *t, size_t i, uint64_t *ret_start,
			    uint64_t *ret_end);

/*
 * Whether the symbol that has vaddr is one without a size, so that its end is only a guess; the
 * start of the symbol is stored then. Exception tables may know better (eh_function.h).
 */
bool elf_symbol_table_guesses(const struct elf_symbol_table *t, uint64_t vaddr,
			      uint64_t *ret_start);

/*
 * Stores the name of the function that contains vaddr, as it is in the file (possibly mangled,
 * with a version) and NUL-terminated. Returns 0, -ENOENT if there is no such function or its
 * name is longer than cap, or -ENODATA, -EIO and others if the file cannot be read.
 */
int elf_symbol_table_find(const struct elf_symbol_table *t, const struct elf_layout *layout,
			  const struct byte_source *src, uint64_t vaddr, char *name,
			  size_t cap) MUST_CHECK;

/*
 * Finds the address of a symbol of any kind by its exact name in .symtab, reading the whole table.
 * Returns 0, -ENOENT if there is none, or an error as above.
 */
int elf_symbol_address(const struct elf_layout *layout, const struct byte_source *src,
		       const char *name, uint64_t *ret_vaddr) MUST_CHECK;

#endif /* COMMON_ELF_ELF_SYMBOLS_H */
