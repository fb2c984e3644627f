/*
 * Where the function that contains an address begins, for code without a symbol. Pure.
 *
 * From the exception tables that nearly every native binary keeps when it is stripped: the sorted
 * index .eh_frame_hdr (LSB Core, "DWARF Extensions") leads to the one frame description that may
 * cover the address, and only that one's own range decides. Read in pieces; nothing is kept.
 */
#ifndef NODE_AGENT_ELF_EH_FUNCTION_H
#define NODE_AGENT_ELF_EH_FUNCTION_H

#include "common/base.h"
#include "node-agent/elf/byte_source.h"
#include "node-agent/elf/elf_layout.h"

/*
 * 0; -ENOENT: no index, an index or description in an encoding that linkers do not use, or none
 * that covers vaddr; -EIO and others of reading.
 */
int eh_function_start(const struct elf_layout *layout, const struct byte_source *src,
		      uint64_t vaddr, uint64_t *ret_vaddr) MUST_CHECK;

#endif /* NODE_AGENT_ELF_EH_FUNCTION_H */
