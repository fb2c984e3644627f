/*
 * GNU's linker describes the PLT, others do not. Facts about stubs are those of the linkers
 * (binutils bfd/elfxx-x86.c, LLVM's lld/ELF/Arch): on x86-64, each but the first has 16 bytes and
 * pushes its number before it jumps to the first one; on arm64, none but the first one moves the
 * stack pointer.
 */
#include "node-agent/unwind/cfi/cfi_gaps.h"

#include <elf.h>
#include <errno.h>

#include "common/elf/signal_return.h"
#include "node-agent/unwind/cfi/cfi_rule.h"
#include "node-agent/unwind/cfi/cfi_state.h"

/* _start of all C libraries is shorter; what follows in a gap is other code. */
#define ENTRY_BYTES 32u
#define EMBEDDED_MIN_BYTES (1u << 20)
#define DEFERRED_MIN_BYTES (1u << 18)
/* If functions are larger on average, most of them are not described: they have 200 or 300. */
#define FUNCTION_MAX_BYTES 2048u
/* Sections between which there is nothing but padding. */
#define SECTIONS_APART_BYTES 64u

#define STUB_BYTES 16u
/* The instruction after the push: of [jmp *slot; push; jmp], and of [endbr64; push; jmp] */
#define PUSHED_AT 11u
#define PUSHED_AT_AFTER_ENDBR 9u
static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
/* The first stub: push, then jmp */
#define FIRST_PUSHED_AT 6u

static const struct unwind_rule unknown = {.base = UNWIND_CFA_UNKNOWN};
static const struct unwind_rule end_of_stack = {.base = UNWIND_CFA_END};

/* Keeps what is before those that are there already. */
static void add_special(struct cfi_gaps *g, enum cfi_special_kind kind, uint64_t start,
			uint64_t end)
{
	size_t i = g->n_specials;

	for (size_t j = 0; j < g->n_specials; j++) {
		const struct cfi_special *s = &g->specials[j];

		if (start >= s->start && start < s->end)
			return;
		if (start < s->start && end > s->start)
			end = s->start;
	}
	if (start >= end)
		return;
	for (; i > 0 && g->specials[i - 1].start > start; i--)
		g->specials[i] = g->specials[i - 1];
	g->specials[i] = (struct cfi_special){.start = start, .end = end, .kind = kind};
	g->n_specials++;
}

int cfi_gaps_init(struct cfi_gaps *g, const struct elf_layout *layout, struct file_windows *windows,
		  const struct cfi_go *go, struct cfi_rows *rows)
{
	const struct elf_section *plt = &layout->sections[ELF_SECTION_PLT];

	*g = (struct cfi_gaps){
		.layout = layout,
		.windows = windows,
		.rows = rows,
		.go = go,
		.left_bytes = CFI_GAPS_READ_MAX_BYTES,
		.left_analysed_bytes = CFI_GAPS_ANALYSED_MAX_BYTES,
	};
	if (go)
		add_special(g, CFI_SPECIAL_GO, go->table.first, go->table.end);
	if (plt->size_bytes > STUB_BYTES)
		add_special(g, CFI_SPECIAL_PLT, plt->vaddr, plt->vaddr + plt->size_bytes);
	/* its instructions say how long it is */
	if (layout->machine == EM_X86_64)
		return code_rules_new(&g->code, layout, windows);
	if (elf_layout_is_text(layout, layout->entry) && layout->entry < UINT64_MAX - ENTRY_BYTES)
		add_special(g, CFI_SPECIAL_ENTRY, layout->entry, layout->entry + ENTRY_BYTES);
	return 0;
}

void cfi_gaps_limit(struct cfi_gaps *g, uint64_t start, uint64_t end)
{
	g->part_start = start;
	g->part_end = end;
	if (g->code)
		code_rules_limit(g->code, start, end);
}

void cfi_gaps_fini(struct cfi_gaps *g)
{
	code_rules_free(g->code);
	g->code = NULL;
}

/* ---- PLT ---- */

static int fill_x86_plt(struct cfi_gaps *g, const struct cfi_special *s)
{
	static const struct unwind_rule first[] = {
		{.base = UNWIND_CFA_SP, .how = UNWIND_RBX_SAME, .cfa = 2},
		{.base = UNWIND_CFA_SP, .how = UNWIND_RBX_SAME, .cfa = 3},
	};
	struct unwind_rule others = {
		.base = UNWIND_CFA_PLT, .how = UNWIND_RBX_SAME, .cfa = PUSHED_AT};
	uint64_t offset = 0;
	const uint8_t *code;
	int r;

	if (elf_layout_offset(g->layout, s->start + STUB_BYTES, &offset) == 0 &&
	    file_windows_get(g->windows, offset, sizeof(endbr64), &code) == 0 &&
	    memcmp(code, endbr64, sizeof(endbr64)) == 0)
		others.cfa = PUSHED_AT_AFTER_ENDBR;
	r = cfi_rows_add(g->rows, s->start, &first[0]);
	if (r < 0)
		return r;
	r = cfi_rows_add(g->rows, s->start + FIRST_PUSHED_AT, &first[1]);
	if (r < 0)
		return r;
	return cfi_rows_add(g->rows, s->start + STUB_BYTES, &others);
}

static int fill_plt(struct cfi_gaps *g, const struct cfi_special *s)
{
	static const struct unwind_rule arm64 = {
		.base = UNWIND_CFA_SP,
		.how = UNWIND_RA_REGISTER,
		.aux = CFI_ARM64_LR,
	};

	return g->layout->machine == EM_X86_64 ? fill_x86_plt(g, s)
					       : cfi_rows_add(g->rows, s->start, &arm64);
}

/* ---- other code ---- */

/* Looks for returns from signal handlers in code that is in the file; offset is in it. */
static int fill_code(struct cfi_gaps *g, uint64_t from, uint64_t to, uint64_t offset)
{
	int r = cfi_rows_add(g->rows, from, &unknown);

	while (r == 0 && from < to && g->left_bytes > 0) {
		uint64_t n =
			to - from < FILE_WINDOWS_LENGTH_MAX ? to - from : FILE_WINDOWS_LENGTH_MAX;
		const uint8_t *code;
		int at;

		r = file_windows_get(g->windows, offset, (size_t)n, &code);
		if (r < 0)
			return r;
		at = signal_return_find(g->layout->machine, code, (size_t)n);
		if (at >= 0) {
			uint64_t start = from + (uint64_t)at;

			n = (uint64_t)at + SIGNAL_RETURN_CODE_MAX_BYTES;
			r = cfi_rows_add(g->rows, start > 0 ? start - 1 : 0, &cfi_signal_rule);
			if (r == 0)
				r = cfi_rows_add(g->rows, from + n, &unknown);
		} else if (n == FILE_WINDOWS_LENGTH_MAX) {
			n -= SIGNAL_RETURN_CODE_MAX_BYTES; /* it may begin there */
		}
		g->left_bytes -= n < g->left_bytes ? n : g->left_bytes;
		from += n < to - from ? n : to - from;
		offset += n;
	}
	return r;
}

static int add_state(void *ctx, uint64_t address, const struct code_state *s)
{
	struct cfi_gaps *g = ctx;
	struct unwind_rule rule = s ? code_state_rule(s) : unknown;

	g->knows_code |= rule.base != UNWIND_CFA_UNKNOWN;
	return cfi_rows_add(g->rows, address, &rule);
}

/* The executable section that comes first of those that do not end before this address. */
static const struct elf_section *section_from(const struct elf_layout *l, uint64_t from)
{
	const struct elf_section *best = NULL;

	for (uint32_t i = 0; i < l->n_texts; i++) {
		const struct elf_section *s = &l->texts[i];

		if (s->vaddr + s->size_bytes > from && (!best || s->vaddr < best->vaddr))
			best = s;
	}
	return best;
}

/*
 * A segment may have data among its code, sections do not. Returns where those end that begin at
 * *from, or after it, without other bytes between them but padding; then *from is their start.
 */
static uint64_t end_of_code(const struct elf_layout *l, uint64_t *from, uint64_t to)
{
	const struct elf_section *s = section_from(l, *from);
	uint64_t end;

	if (l->n_texts == 0 || l->n_texts == ELF_LAYOUT_TEXTS_MAX)
		return to;
	if (!s || s->vaddr >= to) {
		*from = to;
		return to;
	}
	if (s->vaddr > *from)
		*from = s->vaddr;
	do {
		end = s->vaddr + s->size_bytes;
		s = section_from(l, end);
	} while (s && s->vaddr >= end && s->vaddr - end < SECTIONS_APART_BYTES && end < to);
	return end < to ? end : to;
}

static uint64_t text_bytes(const struct cfi_gaps *g)
{
	return g->layout->text_end - g->layout->text_start;
}

bool cfi_describes_most(uint64_t n, uint64_t text_bytes)
{
	return n > text_bytes / FUNCTION_MAX_BYTES;
}

static bool describes_most(const struct cfi_gaps *g)
{
	return cfi_describes_most(g->n_described, text_bytes(g));
}

/*
 * A file that describes most of its code, but not a large stretch of it: that was not made by its
 * compiler. V8 embeds its interpreter in node; it keeps frame pointers.
 */
static bool is_embedded(const struct cfi_gaps *g, uint64_t bytes)
{
	return bytes > EMBEDDED_MIN_BYTES && bytes < text_bytes(g) / 4 && describes_most(g);
}

/*
 * Of a large file without descriptions, most code never runs, and reading all of it takes seconds
 * where it is not in the page cache.
 */
static bool must_defer(const struct cfi_gaps *g, uint64_t bytes)
{
	if (g->part_end > 0)
		return g->fills && bytes > DEFERRED_MIN_BYTES;
	return bytes > g->left_analysed_bytes ||
	       (bytes > DEFERRED_MIN_BYTES && text_bytes(g) > CFI_GAPS_ANALYSED_MAX_BYTES &&
		!describes_most(g));
}

/* Leaves of a stretch what is in the part, or up to so many bytes from it. */
static void clip(const struct cfi_gaps *g, uint64_t around, uint64_t *from, uint64_t *to,
		 uint64_t *offset)
{
	uint64_t start = g->part_start > around ? g->part_start - around : 0;

	if (g->part_end == 0)
		return;
	if (*to > g->part_end && *to - g->part_end > around)
		*to = g->part_end + around;
	if (*from < start) {
		*offset += start - *from;
		*from = start;
	}
}

static bool is_in_part(const struct cfi_gaps *g, uint64_t from, uint64_t to)
{
	return g->part_end == 0 || (from < g->part_end && to > g->part_start);
}

static void defer(struct cfi_gaps *g, uint64_t from, uint64_t to)
{
	struct cfi_deferred *d = &g->deferred;

	if (d->n < CFI_DEFERRED_MAX)
		d->ranges[d->n++].start = from;
	d->ranges[d->n - 1].end = to;
	d->bytes += to - from;
}

static int run_code(struct cfi_gaps *g, uint64_t from, uint64_t to, uint64_t offset)
{
	bool embedded = is_embedded(g, to - from), deferred = must_defer(g, to - from);

	if (!is_in_part(g, from, to))
		return 0;
	clip(g, embedded || deferred ? 0 : CODE_AROUND_BYTES, &from, &to, &offset);
	if (embedded)
		return fill_code(g, from, to, offset);
	if (g->on_code)
		return g->on_code(g->ctx, offset, to - from);
	if (deferred) {
		defer(g, from, to);
		return cfi_rows_add(g->rows, from, &unknown);
	}
	if (g->part_end == 0)
		g->left_analysed_bytes -= to - from;
	return code_rules_run(g->code, from, to, offset, add_state, g);
}

/* Code that is in the file is analysed, or deferred. */
static int analyse(struct cfi_gaps *g, uint64_t from, uint64_t to, uint64_t offset)
{
	int r = 0;

	while (r == 0 && from < to) {
		uint64_t start = from, end = end_of_code(g->layout, &start, to);

		if (start > from)
			r = cfi_rows_add(g->rows, from, &unknown);
		if (r == 0 && start < end)
			r = run_code(g, start, end, offset + (start - from));
		offset += end - from;
		from = end;
	}
	return r;
}

/* Only the parts within executable segments are code. */
static int fill_plain(struct cfi_gaps *g, uint64_t from, uint64_t to)
{
	int r = cfi_rows_add(g->rows, from, &unknown);

	while (r == 0 && from < to) {
		const struct elf_segment *best = NULL;
		uint64_t start, end;

		for (uint32_t i = 0; i < g->layout->n_segments; i++) {
			const struct elf_segment *s = &g->layout->segments[i];

			if (s->executable && s->vaddr + s->file_bytes > from &&
			    (!best || s->vaddr < best->vaddr))
				best = s;
		}
		if (!best || best->vaddr >= to)
			return 0;
		start = best->vaddr > from ? best->vaddr : from;
		end = best->vaddr + best->file_bytes < to ? best->vaddr + best->file_bytes : to;
		r = g->code ? analyse(g, start, end, best->offset + (start - best->vaddr))
			    : fill_code(g, start, end, best->offset + (start - best->vaddr));
		from = end;
	}
	return r;
}

static int fill_special(struct cfi_gaps *g, const struct cfi_special *s)
{
	if (!is_in_part(g, s->start, s->end))
		return 0;
	switch (s->kind) {
	case CFI_SPECIAL_GO:
		return cfi_go_add(g->go, g->rows);
	case CFI_SPECIAL_PLT:
		return fill_plt(g, s);
	case CFI_SPECIAL_ENTRY:
		return cfi_rows_add(g->rows, s->start, &end_of_stack);
	case CFI_SPECIAL_MAX:
		break;
	}
	return 0;
}

int cfi_gaps_fill(struct cfi_gaps *g, uint64_t from, uint64_t to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < g->n_specials && from < to; i++) {
		struct cfi_special s = g->specials[i];

		if (s.end <= from)
			continue;
		if (s.start >= to)
			break;
		if (s.start > from)
			r = fill_plain(g, from, s.start);
		else
			s.start = from;
		if (r == 0)
			r = fill_special(g, &s);
		from = s.end;
	}
	if (r == 0 && from < to)
		r = fill_plain(g, from, to);
	return r;
}
