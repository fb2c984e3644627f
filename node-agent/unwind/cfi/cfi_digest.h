/*
 * A digest of all that cfi_table_build() makes a table from, but for separate debug files: files
 * with the same digest have the same table. Pure.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_DIGEST_H
#define NODE_AGENT_UNWIND_CFI_CFI_DIGEST_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "common/elf/elf_layout.h"

/* Files of which more would have to be read have no digest; the largest programs have a quarter. */
#define CFI_DIGEST_MAX_BYTES (UINT64_C(256) << 20)
/* Likewise of code that nothing describes, to spare the page cache the largest browsers. */
#define CFI_DIGEST_CODE_MAX_BYTES (UINT64_C(96) << 20)

/*
 * SHA-256 over the layout of the code and the bytes of the sections that describe it. Returns 0;
 * -EFBIG above CFI_DIGEST_MAX_BYTES or CFI_DIGEST_CODE_MAX_BYTES; -ENOMEM; or an error of
 * byte_source_read().
 */
int cfi_digest(const struct elf_layout *layout, const struct byte_source *src,
	       uint64_t ret[4]) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_DIGEST_H */
