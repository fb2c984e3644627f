/*
 * The descriptions of functions (FDE) of a file, in the order of their code. Pure.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_INDEX_H
#define NODE_AGENT_UNWIND_CFI_CFI_INDEX_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/unwind/cfi/cfi_entry.h"

/*
 * More are not read: an index may have millions of entries that all lead to the same description.
 * The largest programs have below a million.
 */
#define CFI_INDEX_MAX 8388608u
/* Entries of all kinds that are read to sort those of functions; the rest is not seen. */
#define CFI_INDEX_SCANNED_MAX (2u * CFI_INDEX_SORTED_MAX)
/* Likewise if they have to be sorted, which takes 32 MiB. */
#define CFI_INDEX_SORTED_MAX 2097152u
/* Of the linker's index: address of a function, that of its description; 4 bytes each. */
#define CFI_INDEX_ENTRY_BYTES 8u

struct cfi_index {
	struct cfi_section section;
	struct cfi_cie_cache cies;
	uint64_t n;
	/* The linker's sorted index (.eh_frame_hdr), or one that was made here. */
	uint64_t table_offset; /* of its entries in the file */
	uint64_t table_vaddr;  /* what they are relative to */
	uint64_t *functions;   /* owned: pairs of an address and a position; NULL: the linker's */
	/* owned; of a compressed section, which is not read from the file itself */
	uint8_t *inflated;
	struct byte_source inflated_src;
	struct file_windows *inflated_windows;
};

/*
 * For .eh_frame. windows is borrowed. Returns 0; -ENOENT if there is none; -ENOMEM; or another
 * error of file_windows_get().
 */
int cfi_index_open(struct cfi_index *ret, const struct elf_layout *layout,
		   struct file_windows *windows) MUST_CHECK;

/*
 * For .debug_frame of a file for the same machine; src, too, is borrowed. Results as above, or
 * those of byte_source_read().
 */
int cfi_index_open_debug(struct cfi_index *ret, const struct elf_layout *layout,
			 const struct byte_source *src, struct file_windows *windows) MUST_CHECK;

/* NULL or zeroed is allowed. */
void cfi_index_fini(struct cfi_index *x);

/*
 * Stores where the function begins that description i is of, as the index says. Results are those
 * of file_windows_get().
 */
int cfi_index_start(const struct cfi_index *x, uint64_t i, uint64_t *ret) MUST_CHECK;

/*
 * Understands description i. Results as of cfi_entry_function(): -EBADMSG if this one is broken.
 */
int cfi_index_function(struct cfi_index *x, uint64_t i, struct cfi_function *ret,
		       const struct cfi_cie **ret_cie) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_INDEX_H */
