/*
 * Rules for code that no description covers: Go's, the stubs of a PLT, the entry point, returns
 * from signal handlers. All other such code has the rule "unknown". Pure.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_GAPS_H
#define NODE_AGENT_UNWIND_CFI_CFI_GAPS_H

#include "common/base.h"
#include "node-agent/unwind/cfi/cfi_go.h"
#include "node-agent/unwind/cfi/cfi_rows.h"
#include "node-agent/unwind/cfi/file_windows.h"

/* Instructions of all gaps together that are looked at. */
#define CFI_GAPS_READ_MAX_BYTES UINT64_C(67108864)

enum cfi_special_kind {
	CFI_SPECIAL_GO,
	CFI_SPECIAL_PLT,
	CFI_SPECIAL_ENTRY,
	CFI_SPECIAL_MAX,
};

struct cfi_special {
	uint64_t start;
	uint64_t end;
	enum cfi_special_kind kind;
};

struct cfi_gaps {
	const struct elf_layout *layout; /* borrowed, as are the following */
	struct file_windows *windows;
	struct cfi_rows *rows;
	const struct cfi_go *go; /* NULL: there is none */
	uint64_t left_bytes;
	struct cfi_special specials[CFI_SPECIAL_MAX]; /* ascending, disjoint */
	size_t n_specials;
};

void cfi_gaps_init(struct cfi_gaps *g, const struct elf_layout *layout,
		   struct file_windows *windows, const struct cfi_go *go, struct cfi_rows *rows);

/*
 * Adds rows for the code from `from` to `to`; what follows begins with a row of its own. Calls are
 * in ascending order. Returns 0, or an error of cfi_rows_add() or file_windows_get().
 */
int cfi_gaps_fill(struct cfi_gaps *g, uint64_t from, uint64_t to) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_GAPS_H */
