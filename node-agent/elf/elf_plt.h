/*
 * Names of procedure linkage stubs: which imported function a stub jumps to. Pure.
 *
 * Told by the stub's own instructions, not by its position: the jump through a slot of the
 * global offset table, and the relocation of that slot.
 */
#ifndef NODE_AGENT_ELF_ELF_PLT_H
#define NODE_AGENT_ELF_ELF_PLT_H

#include "common/base.h"
#include "node-agent/elf/elf_layout.h"

/*
 * Name of the imported function, as in the file and without "@plt", NUL-terminated. 0;
 * -ENOENT: vaddr lies in no such stub; -ENODATA, -EIO …: cannot be read.
 */
int elf_plt_find(const struct elf_layout *layout, const struct byte_source *src, uint64_t vaddr,
		 char *name, size_t cap) MUST_CHECK;

#endif /* NODE_AGENT_ELF_ELF_PLT_H */
