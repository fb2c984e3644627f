/*
 * Stripped programs have no symbol for the module data, and only since 1.26 they have a section of
 * their own. They are found by their content: the first word points to .gopclntab, and others are
 * the start of its first function and the end of its last one.
 *
 * Go's linker writes such words into the file, also in position-independent programs. External
 * linkers may leave zeros and write relocations instead, which are searched for the same words;
 * linkers sort them by address, so that those of the module data are together.
 */
#include "node-agent/gopclntab/gopclntab_module.h"

#include <elf.h>
#include <errno.h>

#define SCAN_STEP_BYTES 65536u
#define RELOCATIONS_AT_ONCE 128u

/* Index of moduledata.gofunc, after moduledata.rodata. */
#define GOFUNC_SINCE_1_18 38u
#define GOFUNC_SINCE_1_20 40u
#define GOFUNC_SINCE_1_27 43u
#define WORDS (GOFUNC_SINCE_1_27 + 1)

/* ---- words of the file ---- */

int gopclntab_module_scan(const struct byte_source *src, const struct elf_segment *segment,
			  size_t n_words, gopclntab_module_fn *fn, void *ctx)
{
	const size_t overlap = (n_words - 1) * GOPCLNTAB_POINTER_BYTES;
	AUTO_FREE uint64_t *words = malloc(SCAN_STEP_BYTES);
	uint64_t end = segment->file_bytes;

	if (!words)
		return -ENOMEM;
	if (end > GOPCLNTAB_SCAN_MAX_BYTES)
		end = GOPCLNTAB_SCAN_MAX_BYTES;
	for (uint64_t at = -segment->vaddr & (GOPCLNTAB_POINTER_BYTES - 1);
	     at + n_words * GOPCLNTAB_POINTER_BYTES <= end; at += SCAN_STEP_BYTES - overlap) {
		size_t len = end - at < SCAN_STEP_BYTES ? (size_t)(end - at) : SCAN_STEP_BYTES;
		int r = byte_source_read(src, segment->offset + at, words, len);

		if (r < 0)
			return r;
		for (size_t i = 0; i + n_words <= len / GOPCLNTAB_POINTER_BYTES; i++) {
			if (fn(ctx, words + i))
				return 0;
		}
	}
	return -ENOENT;
}

/* ---- relocations ---- */

/* Until fn returns true. Results as of gopclntab_module_scan(). */
typedef bool relocation_fn(void *ctx, uint64_t vaddr, uint64_t value);

static int visit_relocations(const struct elf_layout *l, const struct byte_source *src,
			     relocation_fn *fn, void *ctx)
{
	const struct elf_section *s = &l->sections[ELF_SECTION_RELA_DYN];
	uint32_t relative = l->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	uint64_t n = s->size_bytes / sizeof(Elf64_Rela);
	Elf64_Rela relas[RELOCATIONS_AT_ONCE];

	for (uint64_t i = 0; i < n; i += ARRAY_SIZE(relas)) {
		uint64_t count = n - i < ARRAY_SIZE(relas) ? n - i : ARRAY_SIZE(relas);
		int r;

		r = byte_source_read(src, s->offset + i * sizeof(*relas), relas,
				     (size_t)count * sizeof(*relas));
		if (r < 0)
			return r;
		for (uint64_t j = 0; j < count; j++) {
			if (ELF64_R_TYPE(relas[j].r_info) == relative &&
			    fn(ctx, relas[j].r_offset, (uint64_t)relas[j].r_addend))
				return 0;
		}
	}
	return -ENOENT;
}

struct wanted_relocation {
	uint64_t vaddr;
	uint64_t value;
};

static bool is_wanted(void *ctx, uint64_t vaddr, uint64_t value)
{
	struct wanted_relocation *w = ctx;

	if (vaddr != w->vaddr)
		return false;
	w->value = value;
	return true;
}

int gopclntab_read_relocation(const struct elf_layout *l, const struct byte_source *src,
			      uint64_t vaddr, uint64_t *ret)
{
	struct wanted_relocation w = {.vaddr = vaddr};
	int r = visit_relocations(l, src, is_wanted, &w);

	if (r == 0)
		*ret = w.value;
	return r;
}

int gopclntab_read_pointer(const struct elf_layout *l, const struct byte_source *src,
			   uint64_t vaddr, uint64_t *ret)
{
	uint64_t offset;
	int r;

	r = elf_layout_offset(l, vaddr, &offset);
	if (r == 0)
		r = byte_source_read(src, offset, ret, sizeof(*ret));
	if (r < 0)
		return r;
	return *ret != 0 ? 0 : gopclntab_read_relocation(l, src, vaddr, ret);
}

/* ---- gofunc ---- */

/* The search for the module data of one table. */
struct search {
	const struct gopclntab *table;
	const struct elf_layout *layout;
	uint64_t gofunc;
	/* those read from relocations */
	uint64_t base;
	uint64_t words[WORDS];
};

static bool is_in_file(const struct elf_layout *l, uint64_t vaddr)
{
	uint64_t offset;

	return vaddr != 0 && elf_layout_offset(l, vaddr, &offset) == 0;
}

/* rodata and gofunc are where constants are, and gofunc is not before the start of them. */
static bool is_gofunc(const struct search *s, const uint64_t *w, size_t i)
{
	return w[i - 1] <= w[i] && is_in_file(s->layout, w[i - 1]) && is_in_file(s->layout, w[i]);
}

/* Whether these are the first words of the table's module data; sets gofunc. */
static bool is_module(void *ctx, const uint64_t *w)
{
	struct search *s = ctx;
	size_t i;

	if (w[GOPCLNTAB_MODULE_HEADER] != s->table->vaddr ||
	    w[GOPCLNTAB_MODULE_MIN_PC] != s->table->first ||
	    w[GOPCLNTAB_MODULE_MIN_PC + 1] != s->table->end)
		return false;
	if (s->table->version == GOPCLNTAB_1_18)
		i = GOFUNC_SINCE_1_18;
	else /* in 1.27 these two words are an address and a shorter distance */
		i = is_gofunc(s, w, GOFUNC_SINCE_1_20) ? GOFUNC_SINCE_1_20 : GOFUNC_SINCE_1_27;
	if (!is_gofunc(s, w, i))
		return false;
	s->gofunc = w[i];
	return true;
}

/* Collects the words after a relocation that points to the table. */
static bool collect(void *ctx, uint64_t vaddr, uint64_t value)
{
	struct search *s = ctx;
	uint64_t i = (vaddr - s->base) / GOPCLNTAB_POINTER_BYTES;

	if (s->words[0] != 0 && i < WORDS) {
		s->words[i] = value;
		return false;
	}
	if (s->words[0] != 0 && is_module(s, s->words))
		return true;
	memset(s->words, 0, sizeof(s->words));
	if (value == s->table->vaddr) {
		s->base = vaddr;
		s->words[0] = value;
	}
	return false;
}

int gopclntab_find_gofunc(const struct gopclntab *t, const struct elf_layout *layout,
			  const struct byte_source *src, uint64_t *ret)
{
	struct byte_budget budget = {.src = src, .left_bytes = GOPCLNTAB_OPEN_MAX_BYTES};
	struct search s = {.table = t, .layout = layout};
	struct byte_source limited;
	int r = -ENOENT;

	*ret = 0;
	if (t->version < GOPCLNTAB_1_18)
		return 0;
	byte_source_with_budget(&limited, &budget);
	for (uint32_t i = 0; r == -ENOENT && i < layout->n_segments; i++) {
		if (layout->segments[i].writable)
			r = gopclntab_module_scan(&limited, &layout->segments[i], WORDS, is_module,
						  &s);
	}
	if (r == -ENOENT)
		r = visit_relocations(layout, &limited, collect, &s);
	/* the last relocations may be those of the module data */
	if (r == -ENOENT && is_module(&s, s.words))
		r = 0;
	if (r == 0)
		*ret = s.gofunc;
	return r == -EFBIG ? -ENOENT : r;
}
