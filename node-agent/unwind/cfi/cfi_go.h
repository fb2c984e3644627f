/*
 * Rules for Go's part of a program's code, from .gopclntab. Pure.
 *
 * The runtime unwinds by that table itself: it has the size of the frame at each instruction of
 * compiled code.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_GO_H
#define NODE_AGENT_UNWIND_CFI_CFI_GO_H

#include "common/base.h"
#include "common/elf/file_windows.h"
#include "node-agent/gopclntab/gopclntab.h"
#include "node-agent/unwind/cfi/cfi_rows.h"

struct cfi_go {
	const struct elf_layout *layout; /* borrowed, as are windows */
	struct file_windows *windows;
	struct byte_source src; /* of the file, through windows */
	struct gopclntab table;
};

/*
 * Returns 0; -ENOENT if the file has no such table; or an error of gopclntab_open(). ret must stay
 * where it is.
 */
int cfi_go_open(struct cfi_go *ret, const struct elf_layout *layout, struct file_windows *windows,
		uint64_t size_bytes) MUST_CHECK;

/*
 * Adds rows from table.first up to table.end, which becomes unknown. Broken functions have the
 * frame-pointer rule. Returns 0, -ENOMEM, an error of gopclntab_visit(), or one of cfi_rows_add().
 */
int cfi_go_add(const struct cfi_go *go, struct cfi_rows *rows) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_GO_H */
