/*
 * The functions of an ELF file by address: a table of 12 bytes per symbol. Pure.
 *
 * Names are not kept: an entry says which symbol it is, and the name is read from the file when
 * an address is looked up. Between building and looking up the file may change, so a symbol
 * is believed only while it still has the address the table has; the worst that a hostile
 * file can do is to have its own functions named wrongly.
 *
 * Which symbols: those of type FUNC and GNU_IFUNC in executable segments, and NOTYPE in
 * executable sections (assembler entry points), of .symtab and .dynsym together.
 *
 * How far a symbol reaches: to its size, never further. A symbol of size 0 reaches to the next
 * symbol or the end of its section, at most ELF_SYMBOLS_SIZELESS_MAX_BYTES; in a stripped file
 * the next function is not known, so it names its very address only. A sized symbol around an
 * address wins over a label of size 0 in it, an inner one over an outer.
 *
 * Which of several names at one address: not local before local, then fewer leading
 * underscores (read, not __read), then global before weak, then the shorter, then by alphabet.
 */
#ifndef NODE_AGENT_ELF_ELF_SYMBOLS_H
#define NODE_AGENT_ELF_ELF_SYMBOLS_H

#include "common/base.h"
#include "node-agent/elf/elf_layout.h"

#define ELF_SYMBOLS_SIZELESS_MAX_BYTES 4096u

struct elf_symbol_table; /* opaque; immutable */

/*
 * Of the whole file when that needs at most max_bytes, else of as large a part around the
 * address as fits. 0, caller owns *ret; -ENOMEM; -EFBIG: not even a small part fits; -ENODATA,
 * -EIO …: the file cannot be read. A file without symbols gives an empty table.
 */
int elf_symbol_table_new(struct elf_symbol_table **ret, const struct elf_layout *layout,
			 const struct byte_source *src, uint64_t around,
			 size_t max_bytes) MUST_CHECK;
void elf_symbol_table_free(struct elf_symbol_table *t);
DEFINE_CLEANUP(struct elf_symbol_table *, elf_symbol_table_free);

/* Whether the table is for the part of the file that has this address. */
bool elf_symbol_table_covers(const struct elf_symbol_table *t, uint64_t vaddr);
size_t elf_symbol_table_bytes(const struct elf_symbol_table *t);
size_t elf_symbol_table_count(const struct elf_symbol_table *t);

/*
 * Name of the function that has vaddr, as it is in the file (mangled, with a version perhaps)
 * and NUL-terminated. 0; -ENOENT: no function has it, or its name is longer than cap;
 * -ENODATA, -EIO …: the file cannot be read.
 */
int elf_symbol_table_find(const struct elf_symbol_table *t, const struct elf_layout *layout,
			  const struct byte_source *src, uint64_t vaddr, char *name,
			  size_t cap) MUST_CHECK;

/*
 * Address of a symbol of any kind by its exact name in .symtab: reads the whole table.
 * -ENOENT: not there; else as above.
 */
int elf_symbol_address(const struct elf_layout *layout, const struct byte_source *src,
		       const char *name, uint64_t *ret_vaddr) MUST_CHECK;

#endif /* NODE_AGENT_ELF_ELF_SYMBOLS_H */
