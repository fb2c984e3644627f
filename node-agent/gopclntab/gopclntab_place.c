/*
 * Where the table of a file is, and where its text starts.
 *
 * Usually a section says where it is. External linkers merge that section into another one, which
 * is then searched for the table's header, if the file has sections of Go's linker at all.
 *
 * A file without section headers has nothing that says whether it is a Go program, so all of it is
 * searched, and what looks like a table is not enough: a program of C may carry a Go program in its
 * data. The module data in writable data must point to the table and agree with it on the first
 * and the last function. Where pointers are relocations, because an external linker made a
 * position-independent file, they cannot be read without the headers, and the table is not used.
 *
 * Anybody can write a small file whose headers claim much: holes take no room, and segments may
 * overlap. So the bytes that are read of one file are limited as a whole.
 */
#include <errno.h>

#include "common/elf/elf_symbols.h"
#include "node-agent/gopclntab/gopclntab.h"
#include "node-agent/gopclntab/gopclntab_module.h"
#include "node-agent/gopclntab/gopclntab_parse.h"

#define SCAN_STEP_BYTES 65536u
/* Linkers put the table on a multiple of 16 or 32, since 1.27 of this. */
#define TABLE_ALIGN_BYTES 8u
/* The linker aligns the end of text to less than this. */
#define TEXT_PADDING_MAX_BYTES 64u
/* What begins like a table, and what can be parsed as one: more are not tried. */
#define HEADERS_MAX 64u
#define CANDIDATES_MAX 16u

#define MODULE_WORDS 24u
#define MODULE_MIN_PC_BEFORE_1_16 10u

/* The search for the table of one file. */
struct search {
	const struct elf_layout *layout;
	const struct byte_source *src;
	uint64_t left_bytes;   /* may still be searched for headers */
	unsigned left_headers; /* may still be parsed */
	unsigned n;
	struct gopclntab candidates[CANDIDATES_MAX];
	struct gopclntab *found; /* the one whose module data were found */
};

/* Parses the table that begins at this offset of a section and ends with the section. */
static int parse_at(struct gopclntab *t, const struct byte_source *src,
		    const struct elf_section *section, uint64_t offset)
{
	*t = (struct gopclntab){
		.offset = section->offset + offset,
		.vaddr = section->vaddr + offset,
		.size_bytes = section->size_bytes - offset,
	};
	return gopclntab_parse(t, src);
}

/* Collects what looks like a table in these bytes of a section. */
static int scan_chunk(struct search *s, const struct elf_section *section, uint64_t at,
		      const uint8_t *chunk, size_t len, unsigned max)
{
	for (size_t i = 0; i + GOPCLNTAB_HEADER_BYTES <= len; i += TABLE_ALIGN_BYTES) {
		int r;

		if (s->n == max || s->left_headers == 0)
			return 0;
		if (!gopclntab_is_header(chunk + i))
			continue;
		s->left_headers--;
		r = parse_at(&s->candidates[s->n], s->src, section, at + i);
		if (r == 0)
			s->n++;
		else if (r != -ENOENT)
			return r;
	}
	return 0;
}

/* Collects candidates from a section until there are max. */
static int scan_section(struct search *s, const struct elf_section *section, unsigned max)
{
	uint64_t end = section->size_bytes < s->left_bytes ? section->size_bytes : s->left_bytes;
	AUTO_FREE uint8_t *chunk = malloc(SCAN_STEP_BYTES);

	if (!chunk)
		return -ENOMEM;
	s->left_bytes -= end;
	for (uint64_t at = -section->vaddr & (TABLE_ALIGN_BYTES - 1);
	     at < end && s->n < max && s->left_headers > 0; at += SCAN_STEP_BYTES) {
		size_t len = end - at < SCAN_STEP_BYTES ? (size_t)(end - at) : SCAN_STEP_BYTES;
		int r = byte_source_read(s->src, section->offset + at, chunk, len);

		if (r == 0)
			r = scan_chunk(s, section, at, chunk, len, max);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- files without section headers ---- */

/* Whether these are the first words of the module data of this table; sets its text start. */
static bool is_module_of(struct gopclntab *t, const uint64_t *words)
{
	const uint64_t *w = words + (t->version == GOPCLNTAB_1_2 ? MODULE_MIN_PC_BEFORE_1_16
								 : GOPCLNTAB_MODULE_MIN_PC);
	bool is_relative = t->version >= GOPCLNTAB_1_18 && t->text_start == 0;
	uint64_t base = is_relative ? w[2] : 0;

	if (words[GOPCLNTAB_MODULE_HEADER] != t->vaddr || w[2] == 0 || w[0] != t->first + base ||
	    w[1] != t->end + base || w[2] > w[0] || w[3] < w[1] ||
	    (t->version >= GOPCLNTAB_1_18 && !is_relative && w[2] != t->text_start))
		return false;
	if (is_relative) {
		t->text_start = base;
		t->first += base;
		t->end += base;
	}
	return true;
}

/* Whether the words belong to one of the candidates; it is then s->found. */
static bool find_candidate(void *ctx, const uint64_t *words)
{
	struct search *s = ctx;

	if (words[GOPCLNTAB_MODULE_HEADER] == 0)
		return false;
	for (unsigned i = 0; i < s->n; i++) {
		if (is_module_of(&s->candidates[i], words)) {
			s->found = &s->candidates[i];
			return true;
		}
	}
	return false;
}

/*
 * Collects candidates from all segments of a kind, and only then reads the writable data, once for
 * all of them.
 */
static int search_segments(struct search *s, bool executable, struct gopclntab *ret)
{
	const struct elf_layout *l = s->layout;
	int r = 0;

	s->n = 0;
	for (uint32_t i = 0; r == 0 && i < l->n_segments; i++) {
		const struct elf_segment *g = &l->segments[i];
		const struct elf_section whole = {
			.vaddr = g->vaddr, .offset = g->offset, .size_bytes = g->file_bytes};

		if (g->executable == executable)
			r = scan_section(s, &whole, CANDIDATES_MAX);
	}
	if (r < 0)
		return r;
	r = -ENOENT;
	for (uint32_t i = 0; s->n > 0 && r == -ENOENT && i < l->n_segments; i++) {
		if (l->segments[i].writable)
			r = gopclntab_module_scan(s->src, &l->segments[i], MODULE_WORDS,
						  find_candidate, s);
	}
	if (r == 0)
		*ret = *s->found;
	return r;
}

/* Whether all segments are in the file. */
static bool has_all_segments(const struct search *s)
{
	for (uint32_t i = 0; i < s->layout->n_segments; i++) {
		const struct elf_segment *g = &s->layout->segments[i];

		if (g->offset > s->src->size_bytes ||
		    g->file_bytes > s->src->size_bytes - g->offset)
			return false;
	}
	return true;
}

/* Code comes last: the table is in an executable segment only if there is no other. */
static int locate_in_segments(struct search *s, struct gopclntab *ret)
{
	int r;

	if (!has_all_segments(s))
		return -ENOENT;
	r = search_segments(s, false, ret);
	return r == -ENOENT ? search_segments(s, true, ret) : r;
}

/* ---- files with section headers ---- */

static int locate_in_sections(struct search *s, struct gopclntab *ret)
{
	static const enum elf_section_kind kinds[] = {ELF_SECTION_DATA_REL_RO, ELF_SECTION_RODATA};
	int r = 0;

	for (size_t i = 0; r == 0 && s->n == 0 && i < ARRAY_SIZE(kinds); i++)
		r = scan_section(s, &s->layout->sections[kinds[i]], 1);
	if (r < 0)
		return r;
	if (s->n == 0)
		return -ENOENT;
	*ret = s->candidates[0];
	return 0;
}

static int locate(struct gopclntab *t, const struct elf_layout *l, const struct byte_source *src)
{
	const struct elf_section *own = &l->sections[ELF_SECTION_GOPCLNTAB];
	AUTO_FREE struct search *s = NULL;

	if (own->size_bytes > 0)
		return parse_at(t, src, own, 0);
	if (l->n_texts > 0 && !l->is_go)
		return -ENOENT;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->layout = l;
	s->src = src;
	s->left_bytes = GOPCLNTAB_SCAN_MAX_BYTES;
	s->left_headers = HEADERS_MAX;
	return l->n_texts > 0 ? locate_in_sections(s, t) : locate_in_segments(s, t);
}

/* moduledata.text, if the fields around it agree with the table. */
static int text_start_of_module(const struct gopclntab *t, const struct elf_layout *l,
				const struct byte_source *src, uint64_t *ret)
{
	const struct elf_section *module = &l->sections[ELF_SECTION_GO_MODULE];
	uint64_t header = 0, header_offset = 0, min_pc = 0, text = 0;
	int r;

	if (module->size_bytes < (GOPCLNTAB_MODULE_TEXT + 1) * GOPCLNTAB_POINTER_BYTES)
		return -ENOENT;
	r = gopclntab_read_pointer(
		l, src, module->vaddr + GOPCLNTAB_MODULE_HEADER * GOPCLNTAB_POINTER_BYTES, &header);
	if (r == 0)
		r = elf_layout_offset(l, header, &header_offset);
	if (r == 0)
		r = gopclntab_read_pointer(
			l, src, module->vaddr + GOPCLNTAB_MODULE_MIN_PC * GOPCLNTAB_POINTER_BYTES,
			&min_pc);
	if (r == 0)
		r = gopclntab_read_pointer(
			l, src, module->vaddr + GOPCLNTAB_MODULE_TEXT * GOPCLNTAB_POINTER_BYTES,
			&text);
	if (r < 0)
		return r;
	if (header_offset != t->offset || min_pc - text != t->first)
		return -ENOENT;
	*ret = text;
	return 0;
}

/* Only if .text has no C code: it is then as large as Go's functions together. */
static int text_start_of_section(const struct gopclntab *t, const struct elf_layout *l,
				 uint64_t *ret)
{
	const struct elf_section *text = &l->sections[ELF_SECTION_TEXT];

	if (t->first != 0 || text->size_bytes < t->end ||
	    text->size_bytes - t->end > TEXT_PADDING_MAX_BYTES)
		return -ENOENT;
	*ret = text->vaddr;
	return 0;
}

static int find_text_start(struct gopclntab *t, const struct elf_layout *l,
			   const struct byte_source *src)
{
	int r;

	if (t->version < GOPCLNTAB_1_18 || t->text_start != 0)
		return 0;
	r = gopclntab_read_relocation(l, src,
				      t->vaddr + GOPCLNTAB_HEADER_BYTES +
					      GOPCLNTAB_HEADER_WORD_TEXT * GOPCLNTAB_POINTER_BYTES,
				      &t->text_start);
	if (r == -ENOENT)
		r = elf_symbol_address(l, src, "runtime.text", &t->text_start);
	if (r == -ENOENT)
		r = text_start_of_module(t, l, src, &t->text_start);
	if (r == -ENOENT)
		r = text_start_of_section(t, l, &t->text_start);
	if (r < 0)
		return r;
	t->first += t->text_start;
	t->end += t->text_start;
	return 0;
}

int gopclntab_open(struct gopclntab *ret, const struct elf_layout *layout,
		   const struct byte_source *src)
{
	struct byte_budget budget = {.src = src, .left_bytes = GOPCLNTAB_OPEN_MAX_BYTES};
	struct byte_source limited;
	struct gopclntab t = {0};
	int r;

	byte_source_with_budget(&limited, &budget);
	r = locate(&t, layout, &limited);
	if (r == 0)
		r = find_text_start(&t, layout, &limited);
	if (r < 0)
		return r == -EFBIG ? -ENOENT : r;
	/* reveals a wrong text start, and bytes that only look like a table */
	if (t.first >= t.end || !elf_layout_is_text(layout, t.first) ||
	    !elf_layout_is_text(layout, t.end - 1))
		return -ENOENT;
	*ret = t;
	return 0;
}
