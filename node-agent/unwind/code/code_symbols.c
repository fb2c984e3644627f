#include "node-agent/unwind/code/code_symbols.h"

#include <elf.h>
#include <errno.h>

#include "common/data/array.h"
#include "node-agent/unwind/code/code_names.h"

/* Elements of a table that are read at once. */
#define AT_ONCE 1024u

struct reading {
	struct code_symbols found;
	const struct elf_layout *layout;
	struct file_windows *windows;
	uint64_t start, end;     /* addresses */
	struct code_names names; /* of the table that is read */
	/* symbols of functions of other files that never return, by index */
	uint32_t imports[CODE_SYMBOLS_NEVER_MAX];
	uint32_t n_imports;
};

static int add_start(struct code_symbols *to, uint64_t offset)
{
	if (to->n_starts == CODE_SYMBOLS_MAX || offset > UINT32_MAX)
		return 0;
	if (ARRAY_RESERVE(to->starts, to->max_starts, to->n_starts + 1) < 0)
		return -ENOMEM;
	to->starts[to->n_starts++] = (uint32_t)offset;
	return 0;
}

static int add_symbol(struct reading *r, const Elf64_Sym *s, uint32_t index)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);
	enum code_name name = code_names_kind(&r->names, s->st_name);

	if (s->st_shndx == SHN_UNDEF) {
		if (name == CODE_NAME_NEVER && r->n_imports < CODE_SYMBOLS_NEVER_MAX)
			r->imports[r->n_imports++] = index;
		return 0;
	}
	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || name == CODE_NAME_PART ||
	    !elf_layout_is_text(r->layout, s->st_value))
		return 0;
	if (name == CODE_NAME_NEVER && r->found.n_never < CODE_SYMBOLS_NEVER_MAX)
		r->found.never[r->found.n_never++] = s->st_value;
	if (s->st_value < r->start || s->st_value >= r->end)
		return 0;
	return add_start(&r->found, s->st_value - r->layout->text_start);
}

/* The address is in the relocation itself, as the file may be loaded anywhere. */
static int add_taken(struct reading *r, uint64_t address)
{
	struct code_symbols *to = &r->found;
	uint64_t offset = address - r->layout->text_start;

	if (to->n_taken == CODE_SYMBOLS_MAX || offset > UINT32_MAX || address < r->start ||
	    address >= r->end || !elf_layout_is_text(r->layout, address))
		return 0;
	if (ARRAY_RESERVE(to->taken, to->max_taken, to->n_taken + 1) < 0)
		return -ENOMEM;
	to->taken[to->n_taken++] = (uint32_t)offset;
	return 0;
}

static int add_relocation(struct reading *r, const Elf64_Rela *rela)
{
	struct code_symbols *to = &r->found;

	if (ELF64_R_TYPE(rela->r_info) == R_X86_64_RELATIVE)
		return add_taken(r, (uint64_t)rela->r_addend);
	for (uint32_t i = 0; i < r->n_imports; i++) {
		if (ELF64_R_SYM(rela->r_info) == r->imports[i] &&
		    to->n_slots < CODE_SYMBOLS_NEVER_MAX) {
			to->slots[to->n_slots++] = rela->r_offset;
			break;
		}
	}
	return 0;
}

/* symbols or relocations */
static int read_elements(struct reading *r, const struct elf_section *s, bool are_symbols)
{
	size_t bytes = are_symbols ? sizeof(Elf64_Sym) : sizeof(Elf64_Rela);
	uint64_t n = s->size_bytes / bytes;

	if (n > CODE_SYMBOLS_READ_MAX)
		n = CODE_SYMBOLS_READ_MAX;
	for (uint64_t i = 0; i < n; i += AT_ONCE) {
		size_t count = n - i < AT_ONCE ? (size_t)(n - i) : AT_ONCE;
		Elf64_Sym symbols[AT_ONCE];
		Elf64_Rela relas[AT_ONCE];
		const uint8_t *from;
		int e = file_windows_get(r->windows, s->offset + i * bytes, count * bytes, &from);

		if (e < 0)
			return e;
		memcpy(are_symbols ? (void *)symbols : (void *)relas, from, count * bytes);
		for (size_t j = 0; e == 0 && j < count; j++)
			e = are_symbols ? add_symbol(r, &symbols[j], (uint32_t)(i + j))
					: add_relocation(r, &relas[j]);
		if (e < 0)
			return e;
	}
	return 0;
}

static int read_symbols(struct reading *r, const struct elf_section *symbols,
			const struct elf_section *strings)
{
	int e = code_names_find(&r->names, strings, r->windows);

	if (e == 0)
		e = read_elements(r, symbols, true);
	code_names_fini(&r->names);
	return e;
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int code_symbols_read(struct code_symbols *ret, const struct elf_layout *layout,
		      struct file_windows *windows, uint64_t start, uint64_t end)
{
	const struct elf_section *s = layout->sections;
	struct reading r = {.layout = layout, .windows = windows, .start = start, .end = end};
	int e;

	e = read_symbols(&r, &s[ELF_SECTION_DYNSYM], &s[ELF_SECTION_DYNSYM_STRINGS]);
	if (e == 0 && r.n_imports > 0)
		e = read_elements(&r, &s[ELF_SECTION_RELA_PLT], false);
	if (e == 0)
		e = read_elements(&r, &s[ELF_SECTION_RELA_DYN], false);
	if (e == 0)
		e = read_symbols(&r, &s[ELF_SECTION_SYMTAB], &s[ELF_SECTION_SYMTAB_STRINGS]);
	if (e < 0) {
		code_symbols_fini(&r.found);
		return e;
	}
	if (r.found.n_starts > 0)
		qsort(r.found.starts, r.found.n_starts, sizeof(*r.found.starts), compare);
	if (r.found.n_taken > 0)
		qsort(r.found.taken, r.found.n_taken, sizeof(*r.found.taken), compare);
	*ret = r.found;
	return 0;
}

void code_symbols_fini(struct code_symbols *s)
{
	free(s->starts);
	free(s->taken);
	*s = (struct code_symbols){.n_starts = 0};
}

static uint32_t first_from(const uint32_t *offsets, uint32_t n, uint64_t offset)
{
	uint32_t from = 0, to = n;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (offsets[middle] < offset)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint32_t code_symbols_from(const struct code_symbols *s, uint64_t offset)
{
	return first_from(s->starts, s->n_starts, offset);
}

uint32_t code_symbols_taken_from(const struct code_symbols *s, uint64_t offset)
{
	return first_from(s->taken, s->n_taken, offset);
}

bool code_symbols_have_slot(const struct code_symbols *s, uint64_t address)
{
	for (uint32_t i = 0; i < s->n_slots; i++) {
		if (s->slots[i] == address)
			return true;
	}
	return false;
}
