/*
 * Code that signal handlers return to, which makes the kernel restore all registers. Pure.
 *
 * Its caller did not call it: it was interrupted, at an instruction that may be the first one of
 * its function. The C libraries' have no symbol in stripped files, so it is recognized by its
 * instructions, as debuggers do.
 */
#ifndef COMMON_ELF_SIGNAL_RETURN_H
#define COMMON_ELF_SIGNAL_RETURN_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "common/elf/elf_layout.h"

#define SIGNAL_RETURN_CODE_MAX_BYTES 9u

/* Offset of the first such code for this machine (EM_…), or -ENOENT. */
int signal_return_find(uint16_t machine, const uint8_t *code, size_t len);

/* Whether it begins at an address of the file. */
bool signal_return_is_at(const struct elf_layout *layout, const struct byte_source *src,
			 uint64_t vaddr);

#endif /* COMMON_ELF_SIGNAL_RETURN_H */
