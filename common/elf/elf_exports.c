#include "common/elf/elf_exports.h"

#include <elf.h>
#include <errno.h>

#define CHUNK_BYTES 32768u
#define SYMBOLS_AT_ONCE 256u
#define SYMBOLS_MAX 2000000u

#define PLACES_MAX 8u

/* Where a name is in the string table: as a string, or as the end of other ones. */
struct places {
	uint64_t offsets[PLACES_MAX];
	unsigned n;
	bool whole; /* the last one is a string */
};

struct search {
	const char *const *names;
	size_t n;
	struct places places[ELF_EXPORTS_NAMES_MAX];
	uint64_t *vaddrs;
	size_t n_wanted; /* found among the strings */
	int n_found;
};

static bool is_at(const struct places *p, uint64_t offset)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (p->offsets[i] == offset)
			return true;
	}
	return false;
}

/*
 * Finds a string in a chunk. Linkers may share the end of another one, and nothing says which: all
 * that are found before the string itself may be it.
 */
static void search_name(struct search *s, size_t i, const char *chunk, size_t len, uint64_t at)
{
	size_t name_len = strlen(s->names[i]) + 1;
	struct places *p = &s->places[i];
	const char *from = chunk, *found;

	while (!p->whole && p->n < PLACES_MAX) {
		found = memmem(from, len - (size_t)(from - chunk), s->names[i], name_len);
		if (!found)
			return;
		p->whole = found > chunk && found[-1] == '\0';
		s->n_wanted += p->n == 0;
		if (!is_at(p, at + (uint64_t)(found - chunk)))
			p->offsets[p->n++] = at + (uint64_t)(found - chunk);
		from = found + 1;
	}
}

/* The bytes at `at` of the string table. What ends beyond them is found in the next chunk. */
static void search_chunk(struct search *s, const char *chunk, size_t len, uint64_t at)
{
	for (size_t i = 0; i < s->n; i++)
		search_name(s, i, chunk, len, at);
}

/* Chunks overlap by as much as a name may have, and the byte before it. */
static int search_strings(struct search *s, const struct elf_section *strings,
			  const struct byte_source *src)
{
	AUTO_FREE char *chunk = malloc(CHUNK_BYTES);
	uint64_t step = CHUNK_BYTES - ELF_EXPORTS_NAME_MAX - 1;

	if (!chunk)
		return -ENOMEM;
	if (strings->size_bytes > ELF_EXPORTS_STRINGS_MAX)
		return -EFBIG;
	for (uint64_t at = 0; at < strings->size_bytes; at += step) {
		uint64_t left = strings->size_bytes - at;
		size_t len = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
		int r = byte_source_read(src, strings->offset + at, chunk, len);

		if (r < 0)
			return r;
		search_chunk(s, chunk, len, at);
	}
	return 0;
}

static void match(struct search *s, const Elf64_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF || sym->st_value == 0 || sym->st_name == 0)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (s->vaddrs[i] != 0 || !is_at(&s->places[i], sym->st_name))
			continue;
		s->vaddrs[i] = sym->st_value;
		s->n_found++;
	}
}

static int search_symbols(struct search *s, const struct elf_section *symbols,
			  const struct byte_source *src)
{
	Elf64_Sym syms[SYMBOLS_AT_ONCE];
	uint64_t n = symbols->size_bytes / sizeof(*syms);

	if (n > SYMBOLS_MAX)
		return -EFBIG;
	for (uint64_t i = 0; i < n; i += SYMBOLS_AT_ONCE) {
		size_t count = n - i < SYMBOLS_AT_ONCE ? (size_t)(n - i) : SYMBOLS_AT_ONCE;
		int r = byte_source_read(src, symbols->offset + i * sizeof(*syms), syms,
					 count * sizeof(*syms));

		if (r < 0)
			return r;
		for (size_t j = 0; j < count; j++)
			match(s, &syms[j]);
	}
	return 0;
}

/* The strings of a table of symbols are the section after it. */
static int find(const struct elf_section *symbols, const struct byte_source *src,
		const char *const *names, uint64_t *vaddrs, size_t n)
{
	struct search s = {.names = names, .n = n, .vaddrs = vaddrs};
	int r;

	if (n > ELF_EXPORTS_NAMES_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (strlen(names[i]) > ELF_EXPORTS_NAME_MAX)
			return -EINVAL;
		vaddrs[i] = 0;
	}
	r = search_strings(&s, symbols + 1, src);
	if (r == 0 && s.n_wanted > 0)
		r = search_symbols(&s, symbols, src);
	return r < 0 ? r : s.n_found;
}

int elf_exports_find(const struct elf_layout *layout, const struct byte_source *src,
		     const char *const *names, uint64_t *vaddrs, size_t n)
{
	return find(&layout->sections[ELF_SECTION_DYNSYM], src, names, vaddrs, n);
}

int elf_names_find(const struct elf_layout *layout, const struct byte_source *src,
		   const char *const *names, uint64_t *vaddrs, size_t n)
{
	return find(&layout->sections[ELF_SECTION_SYMTAB], src, names, vaddrs, n);
}
