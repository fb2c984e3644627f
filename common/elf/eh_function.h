/*
 * The start of the function that contains an address, for code without a symbol. Pure.
 *
 * It comes from the exception tables that nearly every native binary keeps when it is
 * stripped: the sorted index .eh_frame_hdr (LSB Core, "DWARF Extensions") leads to the one
 * frame description that may cover the address, and the range in that description decides.
 * Nothing is kept.
 */
#ifndef COMMON_ELF_EH_FUNCTION_H
#define COMMON_ELF_EH_FUNCTION_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "common/elf/elf_layout.h"

/*
 * Returns 0; -ENOENT if there is no index, if it or the description has an encoding that
 * linkers do not use, or if no description covers vaddr; or -EIO and others if the file cannot
 * be read.
 */
int eh_function_start(const struct elf_layout *layout, const struct byte_source *src,
		      uint64_t vaddr, uint64_t *ret_vaddr) MUST_CHECK;

/*
 * The last function that begins at or before vaddr, wherever it ends. Returns as above, -ENOENT
 * also if no function begins there.
 */
int eh_function_before(const struct elf_layout *layout, const struct byte_source *src,
		       uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end) MUST_CHECK;

/*
 * The longest range of .text that is in no function: from the end of one to the start of the next.
 * Returns 0; -ENOENT as above, or if there is none; or an error of byte_source_read().
 */
int eh_function_gap(const struct elf_layout *layout, const struct byte_source *src,
		    uint64_t *ret_start, uint64_t *ret_end) MUST_CHECK;

#endif /* COMMON_ELF_EH_FUNCTION_H */
