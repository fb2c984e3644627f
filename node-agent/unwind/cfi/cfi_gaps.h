/*
 * Rules for code that no description covers: Go's, the stubs of a PLT, the entry point, returns
 * from signal handlers; on x86-64, all that can be found out from the instructions. What is left
 * has the rule "unknown". Pure.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_GAPS_H
#define NODE_AGENT_UNWIND_CFI_CFI_GAPS_H

#include "common/base.h"
#include "common/elf/file_windows.h"
#include "node-agent/unwind/cfi/cfi_go.h"
#include "node-agent/unwind/cfi/cfi_rows.h"
#include "node-agent/unwind/code/code_rules.h"

/* Instructions of all gaps together that are looked at. */
#define CFI_GAPS_READ_MAX_BYTES (UINT64_C(64) << 20)
/*
 * Likewise, of those that are analysed at once, which takes more time: 100 to 300 ms per MiB. More
 * is deferred, and so is most of a larger text that is not described.
 */
#define CFI_GAPS_ANALYSED_MAX_BYTES (UINT64_C(8) << 20)

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
	cfi_code_fn *on_code; /* called for code instead of analysing it; NULL: none is */
	void *ctx;
	const struct elf_layout *layout; /* borrowed, as are the following */
	struct file_windows *windows;
	struct cfi_rows *rows;
	const struct cfi_go *go; /* NULL: there is none */
	struct code_rules *code; /* owned; NULL: no code is analysed */
	uint64_t n_described;    /* functions of the file that are; set by the caller */
	struct cfi_deferred deferred;
	uint64_t part_start, part_end; /* only this is analysed, nothing deferred; 0: no limit */
	bool fills; /* as in struct cfi_part; set by the caller: long stretches are deferred */
	uint64_t left_bytes;
	uint64_t left_analysed_bytes;
	bool knows_code;                              /* rules have come from instructions */
	struct cfi_special specials[CFI_SPECIAL_MAX]; /* ascending, disjoint */
	size_t n_specials;
};

/* Whether n descriptions are so many that they are of most functions of this text. */
bool cfi_describes_most(uint64_t n, uint64_t text_bytes);

/* Returns 0 or -ENOMEM. cfi_gaps_fini() frees it; zeroed is allowed. */
int cfi_gaps_init(struct cfi_gaps *g, const struct elf_layout *layout, struct file_windows *windows,
		  const struct cfi_go *go, struct cfi_rows *rows) MUST_CHECK;
/* Only for these addresses, rows are needed. */
void cfi_gaps_limit(struct cfi_gaps *g, uint64_t start, uint64_t end);
void cfi_gaps_fini(struct cfi_gaps *g);

/*
 * Adds rows for the code from `from` to `to`; what follows begins with a row of its own. Calls are
 * in ascending order. Returns 0, or an error of cfi_rows_add(), code_rules_run() or
 * file_windows_get().
 */
int cfi_gaps_fill(struct cfi_gaps *g, uint64_t from, uint64_t to) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_GAPS_H */
