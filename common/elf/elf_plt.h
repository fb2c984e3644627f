/*
 * Names of procedure linkage stubs: which imported function a stub jumps to. Pure.
 *
 * Found from the stub's instructions, not from its position, which depends on the linker: the
 * stub jumps through a slot of the global offset table, and the relocation of that slot names
 * the function.
 */
#ifndef COMMON_ELF_ELF_PLT_H
#define COMMON_ELF_ELF_PLT_H

#include "common/base.h"
#include "common/elf/elf_layout.h"

/*
 * Stores the name of the imported function, as in the file and without "@plt", NUL-terminated.
 * Returns 0, -ENOENT if vaddr lies in no such stub, or -ENODATA, -EIO and others if the file
 * cannot be read.
 */
int elf_plt_find(const struct elf_layout *layout, const struct byte_source *src, uint64_t vaddr,
		 char *name, size_t cap) MUST_CHECK;

#endif /* COMMON_ELF_ELF_PLT_H */
