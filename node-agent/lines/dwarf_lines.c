/*
 * Not every compiler writes an index of addresses (.debug_aranges; clang does not, and rustc's has
 * some units only), so one is made of the ranges of all units when the file is opened. That reads
 * the first entry of each unit and nothing else; lines and functions are read of those units only
 * that have samples.
 *
 * Ranges of units overlap: linkers fold equal functions, and some assemblers say too much. So all
 * units that have an address are asked about it.
 */
#include "node-agent/lines/dwarf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>

#include "common/data/array.h"
#include "node-agent/lines/dwarf_functions.h"
#include "node-agent/lines/split_units.h"
#include "node-agent/lines/zstd_sections.h"

#define RANGES_MAX (1u << 19) /* 8 MiB; a browser has some 10,000 units */
#define RANGE_MAX_BYTES ((uint64_t)INT32_MAX)
#define RANGE_GAP_MAX UINT64_C(16) /* that alignment leaves between functions of a unit */
#define OVERLAPS_MAX 4096u
/* Of units without ranges whose functions are read when no other has an address. */
#define RANGELESS_MAX_BYTES ((uint64_t)4 * 1024 * 1024)
#define PATH_BYTES 4096u

struct range {
	uint64_t start;
	uint32_t bytes;
	uint32_t unit; /* index */
};

struct unit {
	Dwarf_Off entry; /* its first one */
	uint32_t bytes;  /* at most; of its entries */
	bool has_ranges;
	struct dwarf_functions functions;
};

struct dwarf_lines {
	Elf *elf;
	Dwarf *dwarf;
	struct zstd_sections zstd;
	struct split_units *split; /* NULL: there is no package */
	struct unit *units;        /* by entry */
	size_t n_units, units_cap;
	struct range *ranges; /* by start */
	size_t n, cap;
	bool all_have_ranges; /* or were read for them */
	Dwarf_Die scopes[DWARF_SCOPES_MAX];
	char path[PATH_BYTES];
};

void dwarf_lines_free(struct dwarf_lines *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_units; i++)
		dwarf_functions_fini(&d->units[i].functions);
	split_units_free(d->split);
	dwarf_end(d->dwarf);
	elf_end(d->elf);
	zstd_sections_fini(&d->zstd);
	free(d->units);
	free(d->ranges);
	free(d);
}

/* ---- which unit has an address ---- */

/* Makes a range longer if the next one of the same unit begins at or soon after its end. */
static bool extend_range(struct range *r, uint64_t start, uint64_t end, size_t unit)
{
	if (r->unit != unit || start < r->start || start - r->start > r->bytes + RANGE_GAP_MAX ||
	    end - r->start > RANGE_MAX_BYTES)
		return false;
	if (end - r->start > r->bytes)
		r->bytes = (uint32_t)(end - r->start);
	return true;
}

static int add_range(struct dwarf_lines *d, uint64_t start, uint64_t end, size_t unit)
{
	/* linkers leave functions that they removed at 0 */
	if (start == 0 || end <= start || end - start > RANGE_MAX_BYTES)
		return 0;
	if (d->n > 0 && extend_range(&d->ranges[d->n - 1], start, end, unit))
		return 0;
	if (d->n == RANGES_MAX)
		return 0;
	if (ARRAY_RESERVE(d->ranges, d->cap, d->n + 1) < 0 || !d->ranges)
		return -ENOMEM;
	d->ranges[d->n++] = (struct range){start, (uint32_t)(end - start), (uint32_t)unit};
	return 0;
}

static int add_unit(struct dwarf_lines *d, Dwarf_Off offset, uint64_t bytes)
{
	Dwarf_Addr base, start, end;
	size_t unit = d->n_units;
	ptrdiff_t at = 0;
	Dwarf_Die die;
	int r = 0;

	if (!dwarf_offdie(d->dwarf, offset, &die))
		return 0;
	if (dwarf_tag(&die) != DW_TAG_compile_unit && dwarf_tag(&die) != DW_TAG_skeleton_unit)
		return 0;
	if (ARRAY_RESERVE(d->units, d->units_cap, unit + 1) < 0)
		return -ENOMEM;
	d->units[d->n_units++] = (struct unit){
		.entry = offset, .bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX};
	while (r == 0 && (at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
		d->units[unit].has_ranges = true;
		r = add_range(d, start, end, unit);
	}
	return r;
}

static struct unit *find_unit(struct dwarf_lines *d, Dwarf_Off entry)
{
	size_t lo = 0, hi = d->n_units;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->units[mid].entry < entry)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < d->n_units && d->units[lo].entry == entry ? &d->units[lo] : NULL;
}

/* Of units that do not say where their code is, the index of the file may. */
static int add_index(struct dwarf_lines *d)
{
	Dwarf_Aranges *index;
	size_t n = 0;
	int r = 0;

	if (dwarf_getaranges(d->dwarf, &index, &n) != 0)
		return 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		Dwarf_Arange *a = dwarf_onearange(index, i);
		Dwarf_Addr start;
		Dwarf_Word bytes;
		Dwarf_Off entry;
		struct unit *u;

		if (!a || dwarf_getarangeinfo(a, &start, &bytes, &entry) != 0)
			continue;
		u = find_unit(d, entry);
		if (u && !u->has_ranges)
			r = add_range(d, start, start + bytes, (size_t)(u - d->units));
	}
	return r;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->bytes != y->bytes) /* the smaller one is found first, from behind */
		return x->bytes > y->bytes ? -1 : 1;
	return x->unit > y->unit ? -1 : x->unit < y->unit;
}

static void sort_ranges(struct dwarf_lines *d)
{
	if (d->n > 0)
		qsort(d->ranges, d->n, sizeof(*d->ranges), compare_ranges);
}

static int read_units(struct dwarf_lines *d)
{
	Dwarf_Off at = 0, next;
	size_t header_bytes;
	int r = 0;

	while (r == 0 && dwarf_nextcu(d->dwarf, at, &next, &header_bytes, NULL, NULL, NULL) == 0) {
		r = add_unit(d, at + header_bytes, next - at);
		at = next;
	}
	d->all_have_ranges = true;
	for (size_t i = 0; i < d->n_units; i++)
		d->all_have_ranges &= d->units[i].has_ranges;
	if (r == 0 && !d->all_have_ranges)
		r = add_index(d);
	sort_ranges(d);
	return r;
}

/* The unit that has the functions of a unit of the file: it, or another half in the package. */
static Dwarf_Die unit_with_functions(struct dwarf_lines *d, Dwarf_Die *unit)
{
	Dwarf_Die other;

	return d->split && split_units_get(d->split, unit, &other) ? other : *unit;
}

/* Makes up for units without ranges by those of their functions. */
static void read_rangeless_units(struct dwarf_lines *d)
{
	uint64_t left = RANGELESS_MAX_BYTES;

	d->all_have_ranges = true;
	for (size_t i = 0; i < d->n_units; i++) {
		struct unit *u = &d->units[i];
		Dwarf_Die die;

		if (u->has_ranges || u->bytes > left || !dwarf_offdie(d->dwarf, u->entry, &die))
			continue;
		left -= u->bytes;
		die = unit_with_functions(d, &die);
		if (dwarf_functions_read(&u->functions, &die) < 0)
			break;
		for (size_t k = 0; k < u->functions.n; k++) {
			const struct dwarf_function *f = &u->functions.functions[k];

			if (add_range(d, f->start, f->end, i) < 0)
				break;
		}
	}
	sort_ranges(d);
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

int dwarf_lines_new(struct dwarf_lines **ret, int fd, int package_fd)
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
	r = package_fd >= 0 ? split_units_new(&d->split, package_fd) : 0;
	if (r == 0 || r == -ENOENT)
		r = read_units(d);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(d);
	return 0;
}

/* ---- what an address is ---- */

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

static int unit_version(Dwarf_Die *unit)
{
	Dwarf_Half version = 0;

	return dwarf_cu_die(unit->cu, &(Dwarf_Die){0}, &version, NULL, NULL, NULL, NULL, NULL)
		       ? version
		       : 0;
}

/*
 * The place in the source where an inlined function is called. The file 0 is none, except in DWARF
 * 5, where libdw has a name for it.
 */
static void find_call(Dwarf_Die *unit, Dwarf_Die *inlined, const char **ret_file,
		      uint32_t *ret_line)
{
	Dwarf_Files *files;
	Dwarf_Attribute attribute;
	size_t n;
	uint32_t file = number_of(inlined, DW_AT_call_file);

	*ret_line = number_of(inlined, DW_AT_call_line);
	*ret_file = NULL;
	if (!dwarf_attr(inlined, DW_AT_call_file, &attribute) ||
	    (file == 0 && unit_version(unit) < 5))
		return;
	if (dwarf_getsrcfiles(unit, &files, &n) == 0 && file < n)
		*ret_file = dwarf_filesrc(files, file, NULL, NULL);
}

/* The line of an address, which may be 0; false: the unit has none. */
static bool find_line(Dwarf_Die *unit, uint64_t vaddr, const char **ret_file, uint32_t *ret_line)
{
	Dwarf_Line *found = dwarf_getsrc_die(unit, vaddr);
	int line = 0;

	*ret_file = NULL;
	*ret_line = 0;
	if (!found || dwarf_lineno(found, &line) != 0)
		return false;
	*ret_file = dwarf_linesrc(found, NULL, NULL);
	*ret_line = line > 0 ? (uint32_t)line : 0;
	return true;
}

/*
 * A source file as other tools have it. Of DWARF 5, libdw does not say which directory a relative
 * name is relative to, which is the one that the compiler ran in. Valid until the next call.
 */
static const char *path_of(struct dwarf_lines *d, Dwarf_Die *unit, const char *file)
{
	Dwarf_Attribute attribute;
	const char *dir = NULL;
	int n;

	if (!file || file[0] == '/')
		return file;
	if (dwarf_attr(unit, DW_AT_comp_dir, &attribute))
		dir = dwarf_formstring(&attribute);
	if (!dir || dir[0] != '/')
		return file;
	n = snprintf(d->path, sizeof(d->path), "%s/%s", dir, file);
	return n > 0 && (size_t)n < sizeof(d->path) ? d->path : file;
}

/*
 * Adds functions, which begin with the innermost. All or none: the line of an inlined function must
 * not be shown as one of the function around it. One whose name is unknown is shown by its call.
 */
static void add_functions(struct dwarf_lines *d, Dwarf_Die *unit, size_t n, uint64_t vaddr,
			  struct line_answer *ret)
{
	const char *file;
	uint32_t line;

	(void)find_line(unit, vaddr, &file, &line);
	for (size_t i = 0; i < n; i++) {
		const char *name = name_of(&d->scopes[i]);

		if ((name || i + 1 == n) &&
		    !line_answer_add(ret, name, path_of(d, unit, file), line)) {
			line_answer_clear(ret);
			return;
		}
		if (i + 1 < n)
			find_call(unit, &d->scopes[i], &file, &line);
	}
}

/* Asks one unit. Returns whether it has a function there; else the answer may be a line. */
static bool ask_unit(struct dwarf_lines *d, struct unit *u, uint64_t vaddr, struct line_answer *ret)
{
	const char *file;
	uint32_t line;
	Dwarf_Die unit, functions;
	size_t n;

	if (!dwarf_offdie(d->dwarf, u->entry, &unit))
		return false;
	functions = unit_with_functions(d, &unit);
	if (dwarf_functions_read(&u->functions, &functions) < 0)
		return false;
	n = dwarf_functions_find(&u->functions, &functions, vaddr, d->scopes);
	if (n > 0) {
		line_answer_clear(ret);
		add_functions(d, &unit, n, vaddr, ret);
		return true;
	}
	if (ret->n == 0 && find_line(&unit, vaddr, &file, &line) && line > 0)
		(void)line_answer_add(ret, NULL, path_of(d, &unit, file), line);
	return false;
}

/* Asks the units that have an address. Returns whether one has a function there. */
static bool ask_units(struct dwarf_lines *d, uint64_t vaddr, struct line_answer *ret)
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

		if (vaddr - r->start < r->bytes && ask_unit(d, &d->units[r->unit], vaddr, ret))
			return true;
	}
	return false;
}

int dwarf_lines_find(struct dwarf_lines *d, uint64_t vaddr, struct line_answer *ret)
{
	line_answer_clear(ret);
	if (!ask_units(d, vaddr, ret) && ret->n == 0 && !d->all_have_ranges) {
		read_rangeless_units(d);
		(void)ask_units(d, vaddr, ret);
	}
	return ret->n > 0 ? 0 : -ENOENT;
}
