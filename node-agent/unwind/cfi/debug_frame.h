/* The bytes of a .debug_frame that is compressed, as distributions' debug files have it. Pure. */
#ifndef NODE_AGENT_UNWIND_CFI_DEBUG_FRAME_H
#define NODE_AGENT_UNWIND_CFI_DEBUG_FRAME_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "common/elf/elf_layout.h"

/* Larger ones are not read; the sorted index of such a section would need half as much again. */
#define DEBUG_FRAME_MAX_BYTES (UINT64_C(32) << 20)

/*
 * Inflates a section. The caller frees *ret. Returns 0; -ENOENT if it is not compressed, not by
 * zlib or zstd, too large or broken; -ENOMEM; or an error of byte_source_read().
 */
int debug_frame_inflate(const struct elf_section *section, const struct byte_source *src,
			uint8_t **ret, uint64_t *ret_len) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_DEBUG_FRAME_H */
