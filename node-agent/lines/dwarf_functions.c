/*
 * Entries of a unit are a tree, which is gone through without recursion: `path` has the entry at
 * each depth. Only entries that may have functions in them are entered, so the bodies of functions
 * are not read before an address of theirs is asked about.
 */
#include "node-agent/lines/dwarf_functions.h"

#include <dwarf.h>

#include "common/data/array.h"

#define DEPTH_MAX 64u

void dwarf_functions_fini(struct dwarf_functions *f)
{
	free(f->functions);
	*f = (struct dwarf_functions){0};
}

/* ---- all functions of a unit ---- */

static int add_function(struct dwarf_functions *f, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		/* linkers leave functions that they removed at 0 */
		if (start == 0 || end <= start || f->n == DWARF_FUNCTIONS_MAX)
			continue;
		if (ARRAY_RESERVE(f->functions, f->cap, f->n + 1) < 0)
			return -ENOMEM;
		f->functions[f->n++] = (struct dwarf_function){start, end, dwarf_dieoffset(die)};
	}
	return 0;
}

/* Whether functions may be in an entry. */
static bool may_have_functions(const struct dwarf_functions *f, int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_common_block:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return f->read_nested;
	default:
		return false;
	}
}

/* Moves on to the next entry at this depth or, at the end, above. Returns false after the last. */
static bool go_on(Dwarf_Die *path, size_t *depth)
{
	while (dwarf_siblingof(&path[*depth], &path[*depth]) != 0) {
		if (*depth == 0)
			return false;
		--*depth;
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct dwarf_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end) /* the smaller one is found first, from behind */
		return x->end > y->end ? -1 : 1;
	return x->entry > y->entry ? -1 : x->entry < y->entry;
}

static int read_entries(struct dwarf_functions *f, Dwarf_Die *unit)
{
	Dwarf_Die path[DEPTH_MAX];
	size_t depth = 0;

	if (dwarf_child(unit, &path[0]) != 0)
		return 0;
	for (;;) {
		int tag = dwarf_tag(&path[depth]);

		if (tag == DW_TAG_subprogram && add_function(f, &path[depth]) < 0)
			return -ENOMEM;
		if (depth + 1 < DEPTH_MAX && may_have_functions(f, tag) &&
		    dwarf_child(&path[depth], &path[depth + 1]) == 0)
			depth++;
		else if (!go_on(path, &depth))
			return 0;
	}
}

static int read_again(struct dwarf_functions *f, Dwarf_Die *unit)
{
	int r;

	f->n = 0;
	r = read_entries(f, unit);
	if (f->n > 0)
		qsort(f->functions, f->n, sizeof(*f->functions), compare);
	return r;
}

int dwarf_functions_read(struct dwarf_functions *f, Dwarf_Die *unit)
{
	if (f->read)
		return 0;
	f->read = true;
	return read_again(f, unit);
}

/* ---- the one that has an address ---- */

#define OVERLAPS_MAX 64u

static bool find_function(const struct dwarf_functions *f, Dwarf_Die *unit, uint64_t vaddr,
			  Dwarf_Die *ret)
{
	size_t lo = 0, hi = f->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->functions[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 1; back <= OVERLAPS_MAX && back <= lo; back++) {
		const struct dwarf_function *x = &f->functions[lo - back];

		if (vaddr < x->end)
			return dwarf_offdie(dwarf_cu_getdwarf(unit->cu), x->entry, ret) != NULL;
	}
	return false;
}

/* Whether an entry within a function has the address, or may have one in it that has. */
static bool is_around(Dwarf_Die *die, uint64_t vaddr)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_with_stmt:
	case DW_TAG_catch_block:
	case DW_TAG_try_block:
		return dwarf_haspc(die, vaddr) > 0;
	default:
		return false;
	}
}

/*
 * Finds the function that is inlined into a scope at the address. Blocks overlap, so that one may
 * have the address and another one beside it the function.
 */
static bool find_inlined(Dwarf_Die *scope, uint64_t vaddr, Dwarf_Die *ret)
{
	Dwarf_Die path[DEPTH_MAX];
	size_t depth = 0;

	if (dwarf_child(scope, &path[0]) != 0)
		return false;
	for (;;) {
		bool around = is_around(&path[depth], vaddr);

		if (around && dwarf_tag(&path[depth]) == DW_TAG_inlined_subroutine) {
			*ret = path[depth];
			return true;
		}
		if (around && depth + 1 < DEPTH_MAX &&
		    dwarf_child(&path[depth], &path[depth + 1]) == 0)
			depth++;
		else if (!go_on(path, &depth))
			return false;
	}
}

size_t dwarf_functions_find(struct dwarf_functions *f, Dwarf_Die *unit, uint64_t vaddr,
			    Dwarf_Die ret[static DWARF_SCOPES_MAX])
{
	Dwarf_Die scope, inner;
	size_t n = 0;

	if (!find_function(f, unit, vaddr, &scope)) {
		if (f->read_nested)
			return 0;
		f->read_nested = true;
		if (read_again(f, unit) < 0 || !find_function(f, unit, vaddr, &scope))
			return 0;
	}
	ret[n++] = scope;
	while (n < DWARF_SCOPES_MAX && find_inlined(&scope, vaddr, &inner)) {
		scope = inner;
		ret[n++] = scope;
	}
	for (size_t i = 0; i < n / 2; i++) {
		Dwarf_Die outer = ret[i];

		ret[i] = ret[n - 1 - i];
		ret[n - 1 - i] = outer;
	}
	return n;
}
