/*
 * DWARF that is compressed with zstd, which libelf understands from release 0.189 on only.
 */
#ifndef NODE_AGENT_LINES_ZSTD_SECTIONS_H
#define NODE_AGENT_LINES_ZSTD_SECTIONS_H

#include <libelf.h>

#include "common/base.h"

/* Of a file, when they are decompressed; beyond it, they are left as they are. */
#define ZSTD_SECTIONS_MAX_BYTES ((size_t)32 * 1024 * 1024)

/* The decompressed sections of a file; zeroed memory has none. */
struct zstd_sections {
	struct zstd_section *first;
	size_t bytes;
};

/* Whether a section with DWARF is compressed so. */
bool zstd_sections_has(Elf *elf);

/*
 * Decompresses them, so that readers of elf find them as if they had never been compressed. elf
 * must not be mapped (ELF_C_READ). What is broken or too large stays compressed. Until elf_end().
 */
void zstd_sections_unpack(struct zstd_sections *z, Elf *elf);

/* After elf_end(). */
void zstd_sections_fini(struct zstd_sections *z);

#endif /* NODE_AGENT_LINES_ZSTD_SECTIONS_H */
