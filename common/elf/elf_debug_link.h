/*
 * .gnu_debuglink: the name and checksum of the separate debug file of a stripped one. Pure.
 *
 * Source: the GDB manual, "Separate Debug Files".
 */
#ifndef COMMON_ELF_ELF_DEBUG_LINK_H
#define COMMON_ELF_ELF_DEBUG_LINK_H

#include "common/base.h"
#include "common/elf/elf_layout.h"

#define ELF_DEBUG_LINK_NAME_MAX 255u

struct elf_debug_link {
	char name[ELF_DEBUG_LINK_NAME_MAX + 1]; /* of a file, without a folder */
	uint32_t crc;                           /* CRC-32 of the whole debug file */
};

/*
 * Returns 0, -ENOENT if the file has no such section or its name is not that of a file, or an error
 * of byte_source_read().
 */
int elf_debug_link_read(const struct elf_layout *layout, const struct byte_source *src,
			struct elf_debug_link *ret) MUST_CHECK;

#endif /* COMMON_ELF_ELF_DEBUG_LINK_H */
