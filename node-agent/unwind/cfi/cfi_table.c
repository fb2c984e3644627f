/*
 * Descriptions are taken in the order of their code, and what lies between them is a gap. A
 * description that begins before the previous one ends overlaps it, which happens in broken files
 * only, except that identical functions which a linker folded may have several: the first one
 * counts.
 *
 * Between functions there is padding. It is never executed, so a gap that is too short for code
 * keeps the rule before it, which saves a fifth of all rows. A call that does not return may be the
 * last instruction of a function, but walks look return addresses up one byte before.
 */
#include "node-agent/unwind/cfi/cfi_table.h"

#include <errno.h>

#include "common/elf/file_windows.h"
#include "node-agent/unwind/cfi/cfi_dotnet.h"
#include "node-agent/unwind/cfi/cfi_gaps.h"
#include "node-agent/unwind/cfi/cfi_go.h"
#include "node-agent/unwind/cfi/cfi_index.h"
#include "node-agent/unwind/cfi/cfi_rows.h"
#include "node-agent/unwind/cfi/cfi_rule.h"

#define PADDING_MAX_BYTES 15u
/* .eh_frame, .debug_frame, and that of the debug file */
#define INDEXES_MAX 3u

struct builder {
	struct cfi_table table;
	const struct elf_layout *layout;
	struct byte_source src, debug_src; /* both within the budget */
	struct file_windows *windows, *debug_windows;
	struct cfi_rows *rows;
	struct cfi_index indexes[INDEXES_MAX];
	uint64_t next[INDEXES_MAX];  /* description that comes next */
	uint64_t start[INDEXES_MAX]; /* of its function; UINT64_MAX: there is none */
	size_t n_indexes;
	struct cfi_go go;
	bool is_go;
	struct cfi_gaps gaps;
	cfi_code_fn *on_code; /* for which only code without description is looked for; or NULL */
	void *code_ctx;
	uint64_t left_bytes; /* of instructions */
	uint64_t at;         /* all code before has its rows */
	uint64_t end;        /* of all code */
	uint64_t stop;       /* rows from here on are not needed */
	bool is_part;

	/* of the function whose instructions are executed */
	const struct cfi_cie *cie;
	int error;
};

int cfi_table_extent(const struct elf_layout *layout, struct cfi_extent *ret)
{
	uint64_t first, last;

	if (layout->text_end <= layout->text_start)
		return -ENOENT;
	first = layout->text_start >> UNWIND_PAGE_SHIFT;
	last = (layout->text_end - 1) >> UNWIND_PAGE_SHIFT;
	if (last - first >= CFI_TABLE_PAGES_MAX)
		return -EFBIG;
	ret->first_page = first;
	ret->n_pages = (uint32_t)(last - first + 1);
	return 0;
}

/* ---- functions ---- */

/* Code that nothing describes. What is after the segments on their pages is none. */
static int fill_gap(struct builder *b, uint64_t start, uint64_t end)
{
	const struct elf_layout *l = b->layout;
	uint64_t from = start > l->text_start ? start : l->text_start;
	uint64_t to = end < l->text_end ? end : l->text_end;
	uint64_t first = b->table.extent.first_page << UNWIND_PAGE_SHIFT;

	if (from < first)
		from = first;
	if (to > b->stop)
		to = b->stop;
	if (from < to && !b->is_go)
		b->table.bare_bytes += to - from;
	return cfi_gaps_fill(&b->gaps, start, end);
}

/* Errors are kept apart from those of the instructions. */
static int on_state(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s)
{
	struct builder *b = ctx;
	struct unwind_rule rule;

	if (end <= b->at)
		return 0;
	if (!cfi_rule_of(&rule, s, &b->cie->coding.registers, b->cie->is_signal))
		b->table.n_unknown_rows++;
	b->error = cfi_rows_add(b->rows, start > b->at ? start : b->at, &rule);
	b->at = end;
	return b->error;
}

/* Code that the linker has removed has nothing to describe. */
static bool is_in_text(const struct builder *b, const struct cfi_function *f)
{
	return f->start < f->end && f->end > b->layout->text_start && f->start < b->end;
}

static bool is_behind_gap(const struct builder *b, const struct cfi_function *f)
{
	return is_in_text(b, f) && f->start > b->at && f->start - b->at > PADDING_MAX_BYTES;
}

static int add_function(struct builder *b, const struct cfi_function *f, const struct cfi_cie *cie)
{
	static const struct unwind_rule unknown = {.base = UNWIND_CFA_UNKNOWN};
	int r = 0;

	if (!is_in_text(b, f))
		return 0;
	b->table.n_functions++;
	b->table.n_bad_functions += f->start < b->at;
	if (f->end <= b->at)
		return 0;
	if (f->start > b->at)
		b->at = f->start;
	if (b->on_code) {
		b->at = f->end;
		return 0;
	}
	b->cie = cie;
	b->error = 0;
	if (f->len > b->left_bytes)
		r = -EBADMSG;
	else
		b->left_bytes -= f->len;
	if (r == 0)
		r = cfi_program_run(f, &cie->coding, &cie->initial, on_state, b);
	if (b->error == 0 && r == -EBADMSG) {
		b->table.n_bad_functions++;
		r = cfi_rows_add(b->rows, b->at, &unknown);
		b->at = f->end;
	}
	return b->error != 0 ? b->error : r;
}

/* ---- what the file has ---- */

/* Moves on to description i of this index. */
static int seek(struct builder *b, size_t index, uint64_t i)
{
	b->next[index] = i;
	if (i < b->indexes[index].n)
		return cfi_index_start(&b->indexes[index], i, &b->start[index]);
	b->start[index] = UINT64_MAX;
	return 0;
}

/*
 * Stores the next function of an index. The gap before it is filled: that reads other places of the
 * file, so the function is read again.
 */
static int next_function(struct builder *b, size_t index, struct cfi_function *ret,
			 const struct cfi_cie **ret_cie)
{
	int r = cfi_index_function(&b->indexes[index], b->next[index], ret, ret_cie);

	if (r < 0 || !is_behind_gap(b, ret))
		return r;
	b->error = fill_gap(b, b->at, ret->start);
	if (b->error < 0)
		return b->error;
	b->at = ret->start;
	return cfi_index_function(&b->indexes[index], b->next[index], ret, ret_cie);
}

/* Moves on to the last description that does not begin after the address. */
static int seek_address(struct builder *b, size_t index, uint64_t address)
{
	uint64_t first = 0, end = b->indexes[index].n;
	int r = 0;

	while (r == 0 && first < end) {
		uint64_t middle = first + (end - first) / 2, start = 0;

		r = cfi_index_start(&b->indexes[index], middle, &start);
		if (start <= address)
			first = middle + 1;
		else
			end = middle;
	}
	return r < 0 ? r : seek(b, index, first > 0 ? first - 1 : 0);
}

/* Moves on to the part. All code before the last description that begins before it is skipped. */
static int seek_part(struct builder *b)
{
	uint64_t address = b->table.extent.first_page << UNWIND_PAGE_SHIFT;
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->n_indexes; i++) {
		r = seek_address(b, i, address);
		if (r == 0 && b->start[i] <= address && b->start[i] > b->at)
			b->at = b->start[i];
	}
	return r;
}

/* The index whose next function comes first, INDEXES_MAX if there are no more. */
static size_t first_index(const struct builder *b)
{
	size_t first = INDEXES_MAX;

	for (size_t i = 0; i < b->n_indexes; i++) {
		if (b->next[i] < b->indexes[i].n &&
		    (first == INDEXES_MAX || b->start[i] < b->start[first]))
			first = i;
	}
	return first;
}

static int add_functions(struct builder *b)
{
	size_t index;
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->n_indexes; i++)
		r = seek(b, i, 0);
	if (r == 0 && b->is_part)
		r = seek_part(b);
	while (r == 0 && b->at < b->stop && (index = first_index(b)) < INDEXES_MAX) {
		const struct cfi_cie *cie;
		struct cfi_function f;

		b->error = 0;
		r = next_function(b, index, &f, &cie);
		if (r == 0) {
			r = add_function(b, &f, cie);
		} else if (b->error == 0 && (r == -EBADMSG || r == -ENODATA)) {
			b->table.n_bad_functions++;
			r = 0;
		}
		if (r == 0)
			r = seek(b, index, b->next[index] + 1);
	}
	if (r == 0 && b->at < b->stop)
		r = fill_gap(b, b->at, b->end);
	return r == 0 ? cfi_rows_finish(b->rows) : r;
}

/* Keeps the index that was opened with result r. Returns 0, or an error that ends the build. */
static int keep_index(struct builder *b, int r, enum cfi_origin origin)
{
	if (r == -ENOENT)
		return 0;
	if (r == 0 && b->n_indexes++ == 0)
		b->table.origin = origin;
	return r;
}

/*
 * Programs that are compiled without .eh_frame nevertheless have that of the files that each
 * program is linked with, so .debug_frame is always read. It describes what .eh_frame does not,
 * except for Go's linker, which describes all of Go's code there.
 */
static int find_descriptions(struct builder *b, const struct cfi_input *in)
{
	struct cfi_index *x = b->indexes;
	int r;

	r = keep_index(b, cfi_index_open(x, in->layout, b->windows), CFI_ORIGIN_EH_FRAME);
	if (r < 0 || b->is_go)
		return r;
	r = keep_index(b, cfi_index_open_debug(&x[b->n_indexes], in->layout, &b->src, b->windows),
		       CFI_ORIGIN_DEBUG_FRAME);
	if (r < 0 || !in->debug_layout || in->debug_layout->machine != in->layout->machine)
		return r;
	r = file_windows_new(&b->debug_windows, &b->debug_src);
	if (r < 0)
		return r;
	return keep_index(b,
			  cfi_index_open_debug(&x[b->n_indexes], in->debug_layout, &b->debug_src,
					       b->debug_windows),
			  CFI_ORIGIN_DEBUG_FILE);
}

static uint64_t end_of(const struct cfi_extent *e)
{
	return (e->first_page + e->n_pages) << UNWIND_PAGE_SHIFT;
}

/* Sets out for all of the table, or for a part of it. */
static int begin(struct builder *b, const struct cfi_input *in, cfi_page_fn *on_page, void *ctx)
{
	struct cfi_extent all;
	int r = cfi_table_extent(in->layout, &all);

	if (r < 0)
		return r;
	b->is_part = in->part;
	b->table.extent = in->part ? in->part->extent : all;
	b->at = all.first_page << UNWIND_PAGE_SHIFT;
	b->end = end_of(&all);
	b->stop = end_of(&b->table.extent);
	r = cfi_rows_new(&b->rows, &b->table, on_page, ctx);
	if (r == 0 && in->part)
		r = cfi_rows_know(b->rows, in->part->rules, in->part->n_rules);
	return r;
}

static int build(struct builder *b, const struct cfi_input *in, cfi_page_fn *on_page, void *ctx)
{
	struct cfi_registers registers;
	int r = begin(b, in, on_page, ctx);

	if (r < 0)
		return r;
	if (in->pe) {
		b->table.origin = CFI_ORIGIN_DOTNET;
		r = cfi_dotnet_add(b->rows, &b->table, in->pe, &b->src);
		return r == 0 ? cfi_rows_finish(b->rows) : r;
	}
	if (!cfi_registers_of(in->layout->machine, &registers))
		return cfi_rows_finish(b->rows);
	r = file_windows_new(&b->windows, &b->src);
	if (r == 0)
		r = cfi_go_open(&b->go, in->layout, b->windows, b->src.size_bytes);
	b->is_go = r == 0;
	if (r == 0 || r == -ENOENT)
		r = find_descriptions(b, in);
	if (r < 0)
		return r;
	if (b->is_go && b->table.origin == CFI_ORIGIN_NONE)
		b->table.origin = CFI_ORIGIN_GO;
	r = cfi_gaps_init(&b->gaps, in->layout, b->windows, b->is_go ? &b->go : NULL, b->rows);
	for (size_t i = 0; i < b->n_indexes; i++)
		b->gaps.n_described += b->indexes[i].n;
	b->gaps.on_code = b->on_code;
	b->gaps.ctx = b->code_ctx;
	if (in->part)
		cfi_gaps_limit(&b->gaps, in->part->extent.first_page << UNWIND_PAGE_SHIFT, b->stop);
	b->gaps.fills = in->part && in->part->fills;
	if (r == 0)
		r = add_functions(b);
	b->table.deferred = b->gaps.deferred;
	if (b->gaps.knows_code && b->table.origin == CFI_ORIGIN_NONE)
		b->table.origin = CFI_ORIGIN_CODE;
	return r;
}

static int run(struct builder *b, const struct cfi_input *in, cfi_page_fn *on_page, void *ctx)
{
	struct byte_budget budget = {.src = in->src, .left_bytes = CFI_TABLE_READ_MAX_BYTES};
	struct byte_budget debug_budget = {
		.src = in->debug_src,
		.left_bytes = CFI_TABLE_READ_MAX_BYTES,
	};
	int r;

	b->layout = in->layout;
	b->left_bytes = CFI_TABLE_CODE_MAX_BYTES;
	byte_source_with_budget(&b->src, &budget);
	if (in->debug_src)
		byte_source_with_budget(&b->debug_src, &debug_budget);
	r = build(b, in, on_page, ctx);
	for (size_t i = 0; i < INDEXES_MAX; i++)
		cfi_index_fini(&b->indexes[i]);
	cfi_gaps_fini(&b->gaps);
	cfi_rows_free(b->rows);
	file_windows_free(b->debug_windows);
	file_windows_free(b->windows);
	if (r != 0)
		cfi_table_fini(&b->table);
	return r;
}

int cfi_table_build(struct cfi_table *ret, const struct cfi_input *in, cfi_page_fn *on_page,
		    void *ctx)
{
	AUTO_FREE struct builder *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	r = run(b, in, on_page, ctx);
	if (r == 0)
		*ret = b->table;
	return r;
}

uint64_t cfi_table_count_sorted(const struct elf_layout *layout)
{
	return layout->eh_frame_hdr_bytes / CFI_INDEX_ENTRY_BYTES;
}

bool cfi_table_may_open(const struct cfi_input *in, uint64_t n_functions)
{
	const struct elf_layout *l = in->layout;
	CLEANUP(file_windows_freep) struct file_windows *windows = NULL;
	struct cfi_index x = {.n = 0};
	bool may;

	/* of a static program, the C library's code may be analysed only from where it begins */
	if (l->entry != 0 && !l->has_interpreter)
		return false;
	/* the sorted index alone says so of most files */
	if (in->pe || l->is_go || l->sections[ELF_SECTION_DEBUG_FRAME].size_bytes > 0 ||
	    cfi_table_count_sorted(l) < n_functions || file_windows_new(&windows, in->src) < 0 ||
	    cfi_index_open(&x, l, windows) < 0)
		return false;
	may = !x.functions && x.n >= n_functions &&
	      cfi_describes_most(x.n, l->text_end - l->text_start);
	cfi_index_fini(&x);
	return may;
}

static int ignore_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	(void)ctx;
	(void)page;
	(void)rows;
	(void)n;
	return 0;
}

int cfi_table_find_code(const struct cfi_input *in, cfi_code_fn *on_code, void *ctx)
{
	AUTO_FREE struct builder *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->on_code = on_code;
	b->code_ctx = ctx;
	r = run(b, in, ignore_page, NULL);
	if (r == 0)
		cfi_table_fini(&b->table);
	return r;
}

void cfi_table_fini(struct cfi_table *t)
{
	if (!t)
		return;
	free(t->rules);
	t->rules = NULL;
}
