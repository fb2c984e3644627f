/*
 * The entries of .eh_frame and .debug_frame: descriptions of functions (FDE) and what several of
 * them have in common (CIE). Pure.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_ENTRY_H
#define NODE_AGENT_UNWIND_CFI_CFI_ENTRY_H

#include "common/base.h"
#include "common/elf/file_windows.h"
#include "node-agent/unwind/cfi/cfi_program.h"
#include "node-agent/unwind/cfi/cfi_state.h"

/* Where entries are; positions are relative to its start. */
struct cfi_section {
	struct file_windows *windows; /* borrowed */
	uint64_t offset;              /* in the file */
	uint64_t vaddr;
	uint64_t size_bytes;
	bool is_debug_frame;
	struct cfi_registers registers;
};

struct cfi_cie {
	struct cfi_coding coding;
	struct cfi_state initial;
	bool has_data;  /* FDEs have augmentation data */
	bool is_signal; /* the caller was interrupted, it has not called */
};

#define CFI_CIE_CACHE 64u
/* CIEs that are read, together. Those of a file have kilobytes, but FDEs may ask for any. */
#define CFI_CIE_READ_MAX_BYTES (UINT64_C(64) << 20)

/* The CIEs that were read last; zeroed at first. */
struct cfi_cie_cache {
	uint64_t read_bytes;
	struct {
		uint64_t position; /* + 1; 0: free */
		int result;
		struct cfi_cie cie;
	} slots[CFI_CIE_CACHE];
};

/* One entry, whatever it is. */
struct cfi_entry {
	uint64_t position;
	uint64_t next;         /* position of the next entry; that of a terminator is 4 bytes on */
	bool is_terminator;    /* ends the entries that one linker input had */
	bool is_cie;           /* else an FDE */
	uint64_t cie_position; /* of an FDE */
	const uint8_t *body;   /* after the pointer to the CIE; valid until the next is read */
	size_t len;
	uint64_t body_vaddr;
};

/*
 * Reads the entry at this position. Returns 0; -EBADMSG if it is broken (ret->next is set if the
 * entry after it can be read, else 0); or another error of file_windows_get().
 */
int cfi_entry_read(struct cfi_entry *ret, const struct cfi_section *s,
		   uint64_t position) MUST_CHECK;

/*
 * Understands an FDE. *ret_cie is valid until the next call, the instructions in *ret until the
 * next entry is read. Results as above.
 */
int cfi_entry_function(struct cfi_function *ret, const struct cfi_cie **ret_cie,
		       const struct cfi_section *s, struct cfi_cie_cache *cache,
		       uint64_t position) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_ENTRY_H */
