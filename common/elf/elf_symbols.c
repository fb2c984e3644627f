/*
 * Linkers do not sort symbols by address, so a table has to be built before anything can be
 * found. A browser has millions of symbols, though, more than the agent may keep, and samples
 * are in a small part of them. So a table can be of a part of the file.
 *
 * There are two passes over the symbols, in pieces. The first counts them per slice of the
 * address space. That gives the exact size to allocate and, if it is over the limit, the
 * slices around the wanted address that fit. The second pass fills the table, which is then
 * sorted in place.
 *
 * A lookup finds the last symbol at or before the address and goes back from there, because an
 * outer function may begin before an inner label; how far is limited, since a hostile file
 * could make every lookup walk the whole table.
 */
#include "common/elf/elf_symbols.h"

#include <elf.h>
#include <errno.h>

#include "common/data/heap_sort.h"
#include "common/data/word_sort.h"

#define SYMBOLS_AT_ONCE 1024u
#define SLICES 512u
/* Entries before an address that are checked whether they contain it. */
#define BACK_MAX 256u
#define ALIASES_MAX 32u
/* For symbols that begin before the part of the table and reach into it. */
#define SPARE_ENTRIES 16u

#define REF_DYNSYM (UINT32_C(1) << 31)
#define REF_SIZELESS (UINT32_C(1) << 30)
#define REF_INDEX (REF_SIZELESS - 1)
/* Browsers with debug symbols have 2 to 3 million; a sparse file could claim any number. */
#define SYMBOLS_MAX 8000000u

struct entry {
	uint32_t size;
	uint32_t start; /* relative to the table's base */
	uint32_t ref;   /* index of the symbol, REF_… */
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && offsetof(struct entry, start) == 4,
	       "the first eight bytes order entries by start, then by size");

struct elf_symbol_table {
	uint64_t base; /* the starts of entries are relative to this */
	uint64_t from; /* first address covered */
	uint64_t end;  /* past the last one */
	uint32_t n;
	struct entry entries[];
};

static const struct elf_section *text_of(const struct elf_layout *l, uint64_t vaddr)
{
	for (uint32_t i = 0; i < l->n_texts; i++) {
		if (vaddr >= l->texts[i].vaddr &&
		    vaddr - l->texts[i].vaddr < l->texts[i].size_bytes)
			return &l->texts[i];
	}
	return NULL;
}

static bool is_function(const struct elf_layout *l, const Elf64_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF || sym->st_name == 0)
		return false;
	if (sym->st_shndx >= SHN_LORESERVE && sym->st_shndx != SHN_XINDEX)
		return false;
	if (!elf_layout_is_text(l, sym->st_value))
		return false;
	switch (ELF64_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		/* on arm64, local symbols $x and $d mark code and data in the text */
		if (l->machine == EM_AARCH64 && ELF64_ST_BIND(sym->st_info) == STB_LOCAL)
			return false;
		return text_of(l, sym->st_value) != NULL;
	default:
		return false;
	}
}

/* Called for each symbol. A result other than 0 ends the walk, which returns it. */
typedef int symbol_fn(void *ctx, const Elf64_Sym *sym, uint32_t ref);

static int walk_section(const struct elf_section *section, const struct byte_source *src,
			uint32_t ref_flag, symbol_fn *fn, void *ctx)
{
	Elf64_Sym syms[SYMBOLS_AT_ONCE];
	uint64_t n = section->size_bytes / sizeof(*syms);

	if (n > SYMBOLS_MAX)
		return -EFBIG;
	for (uint32_t i = 0; i < n; i += SYMBOLS_AT_ONCE) {
		uint32_t count = n - i < SYMBOLS_AT_ONCE ? (uint32_t)(n - i) : SYMBOLS_AT_ONCE;
		int r;

		r = byte_source_read(src, section->offset + (uint64_t)i * sizeof(*syms), syms,
				     count * sizeof(*syms));
		for (uint32_t j = 0; r == 0 && j < count; j++)
			r = fn(ctx, &syms[j], (i + j) | ref_flag);
		if (r != 0)
			return r;
	}
	return 0;
}

static int walk_symbols(const struct elf_layout *l, const struct byte_source *src, symbol_fn *fn,
			void *ctx)
{
	int r;

	r = walk_section(&l->sections[ELF_SECTION_SYMTAB], src, 0, fn, ctx);
	if (r != 0)
		return r;
	return walk_section(&l->sections[ELF_SECTION_DYNSYM], src, REF_DYNSYM, fn, ctx);
}

/* The first pass. */
struct census {
	const struct elf_layout *layout;
	uint64_t slice_bytes;
	uint32_t counts[SLICES];
	uint64_t total;
};

static int count_symbol(void *ctx, const Elf64_Sym *sym, uint32_t ref)
{
	struct census *c = ctx;

	(void)ref;
	if (is_function(c->layout, sym)) {
		c->counts[(sym->st_value - c->layout->text_start) / c->slice_bytes]++;
		c->total++;
	}
	return 0;
}

/* Chooses the slices around an address that have at most max symbols together. */
static int choose_slices(const struct census *c, uint64_t around, uint64_t max, uint32_t *ret_first,
			 uint32_t *ret_end)
{
	uint32_t first = (uint32_t)((around - c->layout->text_start) / c->slice_bytes);
	uint32_t end = first + 1;
	uint64_t max_slices = UINT32_MAX / c->slice_bytes; /* starts have 32 bits */
	uint64_t n = c->counts[first];
	bool grows = true;

	if (n > max || max_slices < 4)
		return -EFBIG;
	while (grows && end - first + 3 < max_slices) {
		grows = false;
		if (end < SLICES && n + c->counts[end] <= max) {
			n += c->counts[end++];
			grows = true;
		}
		if (first > 0 && n + c->counts[first - 1] <= max) {
			n += c->counts[--first];
			grows = true;
		}
	}
	*ret_first = first;
	*ret_end = end;
	return 0;
}

/* The second pass. */
struct filling {
	const struct elf_layout *layout;
	struct elf_symbol_table *table;
	uint32_t capacity;
};

static uint32_t clip(uint64_t size)
{
	return size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
}

static int add_symbol(void *ctx, const Elf64_Sym *sym, uint32_t ref)
{
	struct filling *f = ctx;
	struct elf_symbol_table *t = f->table;
	uint64_t start = sym->st_value;
	struct entry e = {.size = clip(sym->st_size), .ref = ref};

	if (!is_function(f->layout, sym) || t->n == f->capacity)
		return 0;
	if (start < t->base || start >= t->end)
		return 0;
	if (start < t->from && sym->st_size <= t->from - start)
		return 0;
	e.start = (uint32_t)(start - t->base);
	if (sym->st_size == 0)
		e.ref |= REF_SIZELESS;
	t->entries[t->n++] = e;
	return 0;
}

static bool is_alias(const struct entry *a, const struct entry *b)
{
	return a->start == b->start && a->size == b->size;
}

static int compare_refs(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->ref < y->ref ? -1 : x->ref > y->ref;
}

/* By start, then by size, then by reference. */
static void sort_entries(struct elf_symbol_table *t)
{
	uint32_t end;

	word_sort(t->entries, t->n, sizeof(struct entry));
	for (uint32_t i = 0; i < t->n; i = end) {
		end = i + 1;
		while (end < t->n && is_alias(&t->entries[i], &t->entries[end]))
			end++;
		if (end - i > 1)
			heap_sort(&t->entries[i], end - i, sizeof(struct entry), compare_refs);
	}
}

/* Drops the .dynsym entry of an exported function, which .symtab has as well. */
static void drop_doubles(struct elf_symbol_table *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		struct entry *e = &t->entries[i], *before = n > 0 ? &t->entries[n - 1] : NULL;

		if (before && e->ref & REF_DYNSYM && !(before->ref & REF_DYNSYM) &&
		    is_alias(before, e))
			continue;
		t->entries[n++] = *e;
	}
	t->n = n;
}

static void limit_reach(struct elf_symbol_table *t, const struct elf_layout *l)
{
	bool stripped = l->sections[ELF_SECTION_SYMTAB].size_bytes == 0;
	uint64_t next = t->end;

	for (uint32_t i = t->n; i-- > 0;) {
		struct entry *e = &t->entries[i];
		uint64_t start = t->base + e->start, end = next;
		const struct elf_section *text = text_of(l, start);

		if (i > 0 && t->entries[i - 1].start != e->start)
			next = start;
		if (!(e->ref & REF_SIZELESS)) {
			if (text && e->size > text->vaddr + text->size_bytes - start)
				e->size = (uint32_t)(text->vaddr + text->size_bytes - start);
			continue;
		}
		if (text && text->vaddr + text->size_bytes < end)
			end = text->vaddr + text->size_bytes;
		if (end - start > ELF_SYMBOLS_SIZELESS_MAX_BYTES)
			end = start + ELF_SYMBOLS_SIZELESS_MAX_BYTES;
		e->size = stripped ? 1 : (uint32_t)(end - start);
	}
}

static int take_census(struct census *c, const struct elf_layout *l, const struct byte_source *src)
{
	*c = (struct census){
		.layout = l,
		.slice_bytes = (l->text_end - l->text_start) / SLICES + 1,
	};
	return walk_symbols(l, src, count_symbol, c);
}

int elf_symbol_table_new(struct elf_symbol_table **ret, const struct elf_layout *layout,
			 const struct byte_source *src, uint64_t around, size_t max_bytes)
{
	CLEANUP(elf_symbol_table_freep) struct elf_symbol_table *t = NULL;
	const uint64_t max = max_bytes / sizeof(struct entry);
	struct filling filling = {.layout = layout};
	uint32_t first = 0, end = SLICES;
	struct elf_symbol_table *fitting;
	struct census census;
	int r;

	if (around < layout->text_start || around >= layout->text_end)
		return -EFBIG;
	r = take_census(&census, layout, src);
	if (r < 0)
		return r;
	if (census.total > max || census.slice_bytes > UINT32_MAX / SLICES) {
		r = choose_slices(&census, around, max, &first, &end);
		if (r < 0)
			return r;
	}
	filling.capacity = SPARE_ENTRIES;
	for (uint32_t i = first; i < end; i++)
		filling.capacity += census.counts[i];

	t = malloc(sizeof(*t) + filling.capacity * sizeof(struct entry));
	if (!t)
		return -ENOMEM;
	*t = (struct elf_symbol_table){
		.base = layout->text_start + (first - (first > 0)) * census.slice_bytes,
		.from = layout->text_start + first * census.slice_bytes,
		.end = end == SLICES ? layout->text_end
				     : layout->text_start + end * census.slice_bytes,
	};
	filling.table = t;
	r = walk_symbols(layout, src, add_symbol, &filling);
	if (r < 0)
		return r;
	sort_entries(t);
	limit_reach(t, layout);
	drop_doubles(t);
	fitting = realloc(t, elf_symbol_table_bytes(t));
	if (!fitting)
		return -ENOMEM;
	(void)TAKE_PTR(t);
	*ret = fitting;
	return 0;
}

void elf_symbol_table_free(struct elf_symbol_table *t)
{
	free(t);
}

bool elf_symbol_table_covers(const struct elf_symbol_table *t, uint64_t vaddr)
{
	return vaddr >= t->from && vaddr < t->end;
}

size_t elf_symbol_table_bytes(const struct elf_symbol_table *t)
{
	return sizeof(*t) + t->n * sizeof(struct entry);
}

size_t elf_symbol_table_count(const struct elf_symbol_table *t)
{
	return t->n;
}

void elf_symbol_table_range(const struct elf_symbol_table *t, size_t i, uint64_t *ret_start,
			    uint64_t *ret_end)
{
	*ret_start = t->base + t->entries[i].start;
	*ret_end = *ret_start + t->entries[i].size;
}

/* Returns the number of entries that start at or before an address. */
static uint32_t entries_until(const struct elf_symbol_table *t, uint32_t address)
{
	uint32_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->entries[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A name, and the properties that decide between several. */
struct candidate {
	const char *name;
	size_t len;
	unsigned underscores;
	unsigned binding; /* 0 local, 1 weak, 2 global */
};

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (!a->binding != !b->binding)
		return a->binding > 0;
	if (a->underscores != b->underscores)
		return a->underscores < b->underscores;
	if (a->binding != b->binding)
		return a->binding > b->binding;
	if (a->len != b->len)
		return a->len < b->len;
	return strcmp(a->name, b->name) < 0;
}

static unsigned binding_of(const Elf64_Sym *sym)
{
	switch (ELF64_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return 2;
	case STB_WEAK:
		return 1;
	default:
		return 0;
	}
}

/*
 * "$x", "$d.12": marks where code and data begin (ELF for the Arm architectures, RISC-V's psABI,
 * which has "$xrv64gc" as well). Swift's functions begin with "$s", and any name is a function's
 * on other machines.
 */
static bool is_mapping_symbol(uint16_t machine, const char *name)
{
	bool riscv = machine == EM_RISCV;

	if (machine != EM_ARM && machine != EM_AARCH64 && !riscv)
		return false;
	if (name[0] != '$' || name[1] == '\0' || !strchr(riscv ? "dx" : "adtx", name[1]))
		return false;
	return name[2] == '\0' || name[2] == '.' || (riscv && strncmp(name, "$xrv", 4) == 0);
}

/* A table and the file its names are in. */
struct lookup {
	const struct elf_symbol_table *table;
	const struct elf_layout *layout;
	const struct byte_source *src;
};

static int read_candidate(const struct lookup *in, const struct entry *e, struct candidate *ret,
			  char *name, size_t cap)
{
	const struct elf_section *symbols =
		&in->layout
			 ->sections[e->ref & REF_DYNSYM ? ELF_SECTION_DYNSYM : ELF_SECTION_SYMTAB];
	const struct elf_section *strings = symbols + 1;
	uint64_t at = (uint64_t)(e->ref & REF_INDEX) * sizeof(Elf64_Sym);
	Elf64_Sym sym;
	int r;

	if (at >= symbols->size_bytes)
		return -ENOENT;
	r = byte_source_read(in->src, symbols->offset + at, &sym, sizeof(sym));
	if (r < 0)
		return r;
	/* this is another file with the same build id, or it has changed */
	if (sym.st_value != in->table->base + e->start || !is_function(in->layout, &sym))
		return -ENOENT;
	r = byte_source_read_string(in->src, strings->offset + sym.st_name,
				    strings->offset + strings->size_bytes, name, cap);
	if (r < 0)
		return r == -ENAMETOOLONG ? -ENOENT : r;
	if (r == 0 || is_mapping_symbol(in->layout->machine, name))
		return -ENOENT;
	*ret = (struct candidate){
		.name = name,
		.len = (size_t)r,
		.underscores = (unsigned)strspn(name, "_"),
		.binding = binding_of(&sym),
	};
	return 0;
}

static bool reaches(const struct entry *e, uint32_t address)
{
	return address - e->start < e->size;
}

/* Returns the last entry that contains the address, preferably one with a size; -1: none. */
static int64_t find_entry(const struct elf_symbol_table *t, uint32_t address)
{
	uint32_t until = entries_until(t, address);
	int64_t sizeless = -1;

	for (uint32_t back = 1; back <= BACK_MAX && back <= until; back++) {
		uint32_t i = until - back;

		if (!reaches(&t->entries[i], address))
			continue;
		if (!(t->entries[i].ref & REF_SIZELESS))
			return i;
		if (sizeless < 0)
			sizeless = i;
	}
	return sizeless;
}

bool elf_symbol_table_guesses(const struct elf_symbol_table *t, uint64_t vaddr, uint64_t *ret_start)
{
	int64_t i = -1;

	if (elf_symbol_table_covers(t, vaddr))
		i = find_entry(t, (uint32_t)(vaddr - t->base));
	if (i < 0 || !(t->entries[i].ref & REF_SIZELESS))
		return false;
	*ret_start = t->base + t->entries[i].start;
	return true;
}

int elf_symbol_table_find(const struct elf_symbol_table *t, const struct elf_layout *layout,
			  const struct byte_source *src, uint64_t vaddr, char *name, size_t cap)
{
	AUTO_FREE char *other = NULL;
	const struct lookup in = {t, layout, src};
	struct candidate best = {0}, next;
	const struct entry *found;
	int64_t last;
	int r;

	if (!elf_symbol_table_covers(t, vaddr))
		return -ENOENT;
	last = find_entry(t, (uint32_t)(vaddr - t->base));
	if (last < 0)
		return -ENOENT;
	found = &t->entries[last];
	other = malloc(cap);
	if (!other)
		return -ENOMEM;

	for (int64_t i = last; i >= 0 && last - i < ALIASES_MAX; i--) {
		const struct entry *e = &t->entries[i];

		if (e->start != found->start)
			break;
		if ((e->ref ^ found->ref) & REF_SIZELESS ||
		    !reaches(e, (uint32_t)(vaddr - t->base)))
			continue;
		r = read_candidate(&in, e, &next, other, cap);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		if (!best.name || is_better(&next, &best)) {
			memcpy(name, other, next.len + 1);
			best = next;
			best.name = name;
		}
	}
	return best.name ? 0 : -ENOENT;
}

struct search {
	const struct byte_source *src;
	const struct elf_section *strings;
	const char *name;
	uint64_t address;
};

static int match_name(void *ctx, const Elf64_Sym *sym, uint32_t ref)
{
	struct search *s = ctx;
	size_t len = strlen(s->name);
	char name[64];
	int r;

	(void)ref;
	if (sym->st_name == 0 || sym->st_shndx == SHN_UNDEF)
		return 0;
	r = byte_source_read_string(s->src, s->strings->offset + sym->st_name,
				    s->strings->offset + s->strings->size_bytes, name,
				    len + 1 < sizeof(name) ? len + 1 : sizeof(name));
	if (r < 0)
		return r == -ENAMETOOLONG ? 0 : r;
	if (strcmp(name, s->name) != 0)
		return 0;
	s->address = sym->st_value;
	return 1;
}

int elf_symbol_address(const struct elf_layout *layout, const struct byte_source *src,
		       const char *name, uint64_t *ret_vaddr)
{
	struct search s = {
		.src = src,
		.strings = &layout->sections[ELF_SECTION_SYMTAB_STRINGS],
		.name = name,
	};
	int r;

	r = walk_section(&layout->sections[ELF_SECTION_SYMTAB], src, 0, match_name, &s);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	*ret_vaddr = s.address;
	return 0;
}
