/*
 * Not every compiler writes an index of addresses (.debug_aranges; clang does not), so one is made
 * of the ranges of all units when the file is opened. That reads the first entry of each unit and
 * nothing else; lines and functions are read of those units only that have samples.
 */
#include "node-agent/lines/dwarf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>

#include "common/data/array.h"
#include "node-agent/lines/zstd_sections.h"

#define RANGES_MAX (1u << 19) /* 12 MiB; a browser has some 10,000 units */
#define OVERLAPS_MAX 16u

struct range {
	uint64_t start;
	uint64_t end;
	Dwarf_Off unit; /* of its first entry */
};

struct dwarf_lines {
	Elf *elf;
	Dwarf *dwarf;
	struct zstd_sections zstd;
	struct range *ranges; /* by start */
	size_t n, cap;
};

void dwarf_lines_free(struct dwarf_lines *d)
{
	if (!d)
		return;
	dwarf_end(d->dwarf);
	elf_end(d->elf);
	zstd_sections_fini(&d->zstd);
	free(d->ranges);
	free(d);
}

static int add_range(struct dwarf_lines *d, uint64_t start, uint64_t end, Dwarf_Off unit)
{
	/* linkers leave functions that they removed at 0 */
	if (start == 0 || end <= start || d->n == RANGES_MAX)
		return 0;
	if (ARRAY_RESERVE(d->ranges, d->cap, d->n + 1) < 0)
		return -ENOMEM;
	d->ranges[d->n++] = (struct range){start, end, unit};
	return 0;
}

static int add_unit(struct dwarf_lines *d, Dwarf_Off offset)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	Dwarf_Die unit;
	int r = 0;

	if (!dwarf_offdie(d->dwarf, offset, &unit))
		return 0;
	while (r == 0 && (at = dwarf_ranges(&unit, at, &base, &start, &end)) > 0)
		r = add_range(d, start, end, offset);
	return r;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int read_units(struct dwarf_lines *d)
{
	Dwarf_Off at = 0, next;
	size_t header_bytes;
	int r = 0;

	while (r == 0 && dwarf_nextcu(d->dwarf, at, &next, &header_bytes, NULL, NULL, NULL) == 0) {
		r = add_unit(d, at + header_bytes);
		at = next;
	}
	if (d->n > 0)
		qsort(d->ranges, d->n, sizeof(*d->ranges), compare_ranges);
	return r;
}

/* A file whose DWARF is compressed with zstd is read into memory in place of being mapped. */
static void open_elf(struct dwarf_lines *d, int fd)
{
	d->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!d->elf || !zstd_sections_has(d->elf))
		return;
	elf_end(d->elf);
	d->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (d->elf)
		zstd_sections_unpack(&d->zstd, d->elf);
}

int dwarf_lines_new(struct dwarf_lines **ret, int fd)
{
	CLEANUP(dwarf_lines_freep) struct dwarf_lines *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	(void)elf_version(EV_CURRENT);
	open_elf(d, fd);
	if (d->elf)
		d->dwarf = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	if (!d->dwarf)
		return -ENOENT;
	r = read_units(d);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(d);
	return 0;
}

/* Finds the unit whose ranges contain an address. */
static bool find_unit(const struct dwarf_lines *d, uint64_t vaddr, Dwarf_Die *ret)
{
	size_t lo = 0, hi = d->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->ranges[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 1; back <= OVERLAPS_MAX && back <= lo; back++) {
		const struct range *r = &d->ranges[lo - back];

		if (vaddr < r->end)
			return dwarf_offdie(d->dwarf, r->unit, ret) != NULL;
	}
	return false;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name ?: dwarf_diename(die);
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
		return 0;
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

/* The place in the source where an inlined function is called. */
static void find_call(Dwarf_Die *unit, Dwarf_Die *inlined, const char **ret_file,
		      uint32_t *ret_line)
{
	Dwarf_Files *files;
	size_t n;
	uint32_t file = number_of(inlined, DW_AT_call_file);

	*ret_line = number_of(inlined, DW_AT_call_line);
	*ret_file = NULL;
	if (dwarf_getsrcfiles(unit, &files, &n) == 0 && file < n)
		*ret_file = dwarf_filesrc(files, file, NULL, NULL);
}

/*
 * Adds the functions among the scopes of an address, which begin with the innermost. All or none:
 * the line of an inlined function must not be shown as one of the function around it.
 */
static void add_scopes(Dwarf_Die *unit, Dwarf_Die *scopes, int n, const char *file, uint32_t line,
		       struct line_answer *ret)
{
	for (int i = 0; i < n; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		if (!line_answer_add(ret, name_of(&scopes[i]), file, line))
			break;
		if (tag == DW_TAG_subprogram)
			return;
		find_call(unit, &scopes[i], &file, &line);
	}
	line_answer_clear(ret);
}

/* Behind an inlined call, scopes are where it is defined; wanted is where it is inlined. */
static void add_concrete_scopes(Dwarf_Die *unit, Dwarf_Die *scope, const char *file, uint32_t line,
				struct line_answer *ret)
{
	AUTO_FREE Dwarf_Die *scopes = NULL;
	int n = dwarf_getscopes_die(scope, &scopes);

	if (n > 0)
		add_scopes(unit, scopes, n, file, line, ret);
}

static void add_functions(Dwarf_Die *unit, uint64_t vaddr, const char *file, uint32_t line,
			  struct line_answer *ret)
{
	AUTO_FREE Dwarf_Die *scopes = NULL;
	int n = dwarf_getscopes(unit, vaddr, &scopes);

	if (n > 0)
		add_concrete_scopes(unit, &scopes[0], file, line, ret);
}

int dwarf_lines_find(struct dwarf_lines *d, uint64_t vaddr, struct line_answer *ret)
{
	const char *file = NULL;
	Dwarf_Line *found;
	Dwarf_Die unit;
	int line = 0;

	line_answer_clear(ret);
	if (!find_unit(d, vaddr, &unit))
		return -ENOENT;
	found = dwarf_getsrc_die(&unit, vaddr);
	if (found && dwarf_lineno(found, &line) == 0)
		file = dwarf_linesrc(found, NULL, NULL);
	add_functions(&unit, vaddr, file, line > 0 ? (uint32_t)line : 0, ret);
	return ret->n > 0 ? 0 : -ENOENT;
}
