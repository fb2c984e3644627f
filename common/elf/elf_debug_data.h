/*
 * .gnu_debugdata: a small ELF file, compressed with xz, that holds the symbols of functions which a
 * stripped executable does not export. Fedora, RHEL and their relatives ship it in every package.
 *
 * Source: the GDB manual, "Debugging information in a special section".
 */
#ifndef COMMON_ELF_ELF_DEBUG_DATA_H
#define COMMON_ELF_ELF_DEBUG_DATA_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/elf/elf_layout.h"

/* Default settings of xz(1) need 9 MiB, of which a small file touches only a part. */
#define ELF_DEBUG_DATA_DECODER_MAX_BYTES ((uint64_t)16 * 1024 * 1024)

/*
 * Appends the decompressed file to ret, up to ret's limit. Returns 0, -ENOENT if there is none,
 * -EFBIG if it or the decoder would be too large, -EBADMSG if it is corrupt, -ENOMEM, or an error
 * of byte_source_read().
 */
int elf_debug_data_read(const struct elf_layout *layout, const struct byte_source *src,
			struct buf *ret) MUST_CHECK;

#endif /* COMMON_ELF_ELF_DEBUG_DATA_H */
