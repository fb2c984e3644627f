/*
 * An ELF file → the table by which the walk in BPF finds callers in it (bpf/unwind_table.h). Pure.
 *
 * The rules come from the call frame information of the file (.eh_frame, or .debug_frame, which may
 * be in a separate debug file), and for Go's part of the code from .gopclntab. Code that neither
 * describes is covered too: PLT stubs by rules of their own, the rest by those that its
 * instructions lead to (code/code_rules.h), or by the rule "unknown". Assemblies of .NET have
 * descriptions of their own (cfi_dotnet.h).
 *
 * The table is produced in the order of addresses and handed on page by page, so that the caller
 * can write rows straight to where BPF reads them. What is in memory at any time is one page of
 * rows, the dictionary of rules, and windows of the file; files without a sorted index
 * (.eh_frame_hdr) need a list of their functions besides.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_TABLE_H
#define NODE_AGENT_UNWIND_CFI_CFI_TABLE_H

#include <linux/types.h>

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "common/elf/elf_layout.h"
#include "node-agent/dotnet/pe_image.h"

#include "bpf/unwind_table.h"

/* Pages of a table: 2 GiB of text. */
#define CFI_TABLE_PAGES_MAX 65536u
/* All reads together, as byte_source_with_budget() counts them. */
#define CFI_TABLE_READ_MAX_BYTES UINT64_C(2147483648)
/*
 * Instructions of all descriptions together; what lies after is unknown. The largest programs have
 * a tenth of it, but descriptions may share their instructions.
 */
#define CFI_TABLE_CODE_MAX_BYTES (UINT64_C(256) << 20)

/* What a table covers: pages of UNWIND_PAGE_BYTES of the file's addresses (not file offsets). */
struct cfi_extent {
	uint64_t first_page; /* address of its first byte / UNWIND_PAGE_BYTES */
	uint32_t n_pages;
};

/*
 * Pages of a table that was built before, whose deferred code is to be analysed now. Their rows
 * refer to the rules that the table has, and to new ones after those.
 */
struct cfi_part {
	struct cfi_extent extent;        /* of these pages: at most CFI_PART_PAGES */
	const struct unwind_rule *rules; /* borrowed */
	uint32_t n_rules;
	/*
	 * Of a table that was opened (cfi_table_may_open()): at most CFI_FILL_PAGES. Long stretches
	 * that nothing describes stay deferred.
	 */
	bool fills;
};

/*
 * 64 KiB of code, which are analysed in some 15 ms, half of them for what is around: less would
 * take more for all that is hot, and so would more, of which less is hot.
 */
#define CFI_PART_PAGES 2u
#define CFI_FILL_PAGES 64u /* reading the descriptions of 2 MiB takes some 3 ms */

struct cfi_input {
	const struct elf_layout *layout;
	const struct byte_source *src;
	/* A separate debug file of the same build; NULL: none. Only .debug_frame of it is read. */
	const struct elf_layout *debug_layout;
	const struct byte_source *debug_src;
	const struct pe_image *pe;   /* layout is that of this assembly (cfi_dotnet.h); or NULL */
	const struct cfi_part *part; /* NULL: the whole table */
};

/*
 * The extent of a file's table: all of its executable segments. Returns 0, -ENOENT if there are
 * none, or -EFBIG if they lie further apart than CFI_TABLE_PAGES_MAX.
 */
int cfi_table_extent(const struct elf_layout *layout, struct cfi_extent *ret) MUST_CHECK;

/*
 * Called once per page of the extent, in order, page counted from 0. rows are the page's: at least
 * one and at most UNWIND_BLOCK_ROWS, ascending, and the first is for the page's first byte, so
 * that a search never has to look into another page. Rules are indexes of the dictionary; the
 * dictionary only grows, so that rows may be stored at once. rows is valid during the call. A
 * result other than 0 ends the build, which returns it.
 */
typedef int cfi_page_fn(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n);

#define CFI_DEFERRED_MAX 8u

/*
 * Code that nothing describes and that is too much to analyse all of it: its rule is "unknown"
 * until a part with it is built. Ascending; if there are more ranges, the last one includes what
 * lies between them.
 */
struct cfi_deferred {
	struct {
		uint64_t start, end;
	} ranges[CFI_DEFERRED_MAX];
	uint32_t n;
	uint64_t bytes;
};

/* The first of these that describes code of the file; there may be more. */
enum cfi_origin {
	CFI_ORIGIN_NONE, /* nothing describes the code: frame pointers everywhere */
	CFI_ORIGIN_EH_FRAME,
	CFI_ORIGIN_DEBUG_FRAME, /* of the file itself */
	CFI_ORIGIN_DEBUG_FILE,  /* .debug_frame of the separate file */
	CFI_ORIGIN_GO,          /* .gopclntab */
	CFI_ORIGIN_CODE,        /* its instructions */
	CFI_ORIGIN_DOTNET,      /* an assembly's */
	CFI_ORIGIN_MAX,
};

struct cfi_table {
	struct cfi_extent extent;
	enum cfi_origin origin;
	struct unwind_rule *rules; /* the dictionary; owned. The first one is "unknown". */
	uint32_t n_rules;          /* at most UNWIND_TABLE_RULES */
	uint64_t n_rows;           /* that were passed on */
	uint64_t n_functions;      /* descriptions that were read */
	/*
	 * Of code that nothing describes but its instructions, PLT and entry point included; 0 of
	 * a program in Go.
	 */
	uint64_t bare_bytes;
	struct cfi_deferred deferred; /* some of it; empty for a part */
	/* What the table cannot express or could not read; such code has the rule "unknown". */
	uint64_t n_bad_functions; /* descriptions that are broken or overlap others */
	uint64_t n_unknown_rows;  /* rules that the walk does not have */
	uint64_t n_dropped_rows;  /* for lack of room in a page or in the dictionary */
};

/*
 * Builds the table. Returns 0; an error of cfi_table_extent(); -ENOMEM; -EFBIG if more than
 * CFI_TABLE_READ_MAX_BYTES would be read; the result of on_page; or -ENODATA, -EIO and others if
 * the file cannot be read. Broken or missing descriptions are not an error. *ret is written on
 * success only.
 *
 * Of a part, *ret has its extent, and the dictionary begins with the rules of the part.
 */
int cfi_table_build(struct cfi_table *ret, const struct cfi_input *in, cfi_page_fn *on_page,
		    void *ctx) MUST_CHECK;
void cfi_table_fini(struct cfi_table *t);

/* How many functions the linker's sorted index has, by its size. Nothing is read. */
uint64_t cfi_table_count_sorted(const struct elf_layout *layout);

/*
 * Whether each part of the table can be built by itself, in any order, because the file describes
 * most of its code, at least n_functions functions, and the linker has sorted them. Not so a static
 * program: code that nothing describes may call other such code in any part.
 */
bool cfi_table_may_open(const struct cfi_input *in, uint64_t n_functions);

/* Bytes of the file that are code. A result other than 0 ends the search, which returns it. */
typedef int cfi_code_fn(void *ctx, uint64_t offset, uint64_t len);

/*
 * Finds the code whose instructions cfi_table_build() would analyse: that which nothing describes.
 * Calls on_code in ascending order. Returns like cfi_table_build().
 */
int cfi_table_find_code(const struct cfi_input *in, cfi_code_fn *on_code, void *ctx) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_TABLE_H */
