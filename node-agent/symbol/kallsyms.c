/*
 * The agent keeps a quarter of a million kernel symbols for as long as it runs, and needs a
 * few hundred of them. So they are kept small rather than quick to read; found names are
 * cached elsewhere.
 *
 * An entry is one 64-bit number, the address above the offset of the name, which can be sorted
 * in place. An address takes 32 bits, relative to 2 GiB below the first function of the file.
 * That one is the kernel's own text, and modules and BPF programs must be in reach of its call
 * instructions, so all code lies within this window. Names are compressed in blocks
 * (packed_text.h), to a third of their size.
 *
 * Symbols that are no functions have entries, too, without a name: they mark where a function
 * ends. Most of them follow one another and are dropped.
 */
#include "node-agent/symbol/kallsyms.h"

#include <errno.h>

#include "common/data/word_sort.h"
#include "node-agent/symbol/packed_text.h"

#define LINE_MAX_BYTES 1024u /* KSYM_NAME_LEN is 512 */
#define FIRST_ENTRIES 65536u
#define FIRST_NAMES_BYTES (1u << 20)
#define NAME_NONE UINT32_MAX /* the entry only ends the function before it */
#define KERNEL_HALF (UINT64_C(1) << 63)
#define WINDOW_BELOW_BYTES (UINT64_C(1) << 31)

struct kallsyms {
	uint64_t *entries; /* address in the window << 32 | offset of the name */
	uint32_t n;
	uint32_t capacity;
	char *names; /* each: number of the owner (one byte), name, NUL; NULL once packed */
	uint32_t names_bytes;
	uint32_t names_capacity;
	struct packed_text *packed; /* the names, compressed */
	uint64_t base;              /* 0: no function yet */
	uint64_t n_zero;            /* lines whose address is hidden */
	char line[LINE_MAX_BYTES];  /* while reading; afterwards the name found last */
	uint32_t line_bytes;        /* of an incomplete line */
	bool line_too_long;
	char owner[64];       /* module of the last symbol; "": the kernel itself */
	uint8_t owner_number; /* counts modules, modulo 256 */
};

int kallsyms_new(struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	*ret = k;
	return 0;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->entries);
	free(k->names);
	packed_text_free(k->packed);
	free(k);
}

static int reserve_entry(struct kallsyms *k)
{
	uint32_t capacity = k->capacity ? k->capacity + k->capacity / 2 : FIRST_ENTRIES;
	uint64_t *entries;

	if (k->n < k->capacity)
		return 0;
	if (k->n >= KALLSYMS_SYMBOLS_MAX)
		return -EFBIG;
	/* realloc() remaps blocks of this size, so that there is no second copy */
	entries = realloc(k->entries, capacity * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	k->entries = entries;
	k->capacity = capacity;
	return 0;
}

static int reserve_name(struct kallsyms *k, size_t len)
{
	uint32_t capacity = k->names_capacity ? 2 * k->names_capacity : FIRST_NAMES_BYTES;
	char *names;

	if (len + 2 <= k->names_capacity - k->names_bytes)
		return 0;
	if (capacity > KALLSYMS_NAMES_MAX_BYTES)
		return -EFBIG;
	names = realloc(k->names, capacity);
	if (!names)
		return -ENOMEM;
	k->names = names;
	k->names_capacity = capacity;
	return 0;
}

/* A symbol; its texts point into the line. */
struct symbol {
	uint64_t address;
	char type;
	const char *name;
	size_t name_len;
	const char *owner; /* "[module]" or "" */
	size_t owner_len;
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* "ffffffff81000000 T name\t[module]" */
static bool parse_line(struct symbol *ret, const char *line, size_t len)
{
	const char *end = line + len, *p = line, *tab;
	uint64_t address = 0;

	while (p < end && p - line < 16 && hex_digit(*p) >= 0)
		address = address << 4 | (uint64_t)hex_digit(*p++);
	*ret = (struct symbol){.address = address, .owner = ""};
	if (p == line || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return false;
	ret->type = p[1];
	ret->name = p + 3;
	tab = memchr(ret->name, '\t', (size_t)(end - ret->name));
	ret->name_len = (size_t)((tab ? tab : end) - ret->name);
	if (tab) {
		ret->owner = tab + 1;
		ret->owner_len = (size_t)(end - ret->owner);
	}
	return ret->name_len > 0;
}

static bool is_function(const struct symbol *sym)
{
	return strchr("tTwW", sym->type) != NULL;
}

static void note_owner(struct kallsyms *k, const struct symbol *sym)
{
	size_t len = sym->owner_len < sizeof(k->owner) - 1 ? sym->owner_len : sizeof(k->owner) - 1;

	if (strlen(k->owner) == len && memcmp(k->owner, sym->owner, len) == 0)
		return;
	memcpy(k->owner, sym->owner, len);
	k->owner[len] = '\0';
	k->owner_number++;
}

static int add_symbol(struct kallsyms *k, const struct symbol *sym)
{
	bool function = is_function(sym);
	uint64_t name = NAME_NONE;
	int r;

	if (sym->address == 0)
		k->n_zero++;
	if (sym->address < KERNEL_HALF) /* per-CPU offsets and other constants */
		return 0;
	if (sym->name[0] == '$') /* on arm64: marks code and data within functions */
		return 0;
	if (function && k->base == 0)
		k->base = sym->address - WINDOW_BELOW_BYTES;
	if (k->base == 0 || sym->address - k->base > UINT32_MAX)
		return 0;
	r = reserve_entry(k);
	if (r == 0 && function)
		r = reserve_name(k, sym->name_len);
	if (r < 0)
		return r;
	if (function) {
		note_owner(k, sym);
		name = k->names_bytes;
		k->names[name] = (char)k->owner_number;
		memcpy(k->names + name + 1, sym->name, sym->name_len);
		k->names[name + 1 + sym->name_len] = '\0';
		k->names_bytes += (uint32_t)sym->name_len + 2;
	}
	k->entries[k->n++] = (sym->address - k->base) << 32 | name;
	return 0;
}

static int finish_line(struct kallsyms *k)
{
	struct symbol sym = {0};
	int r = 0;

	if (!k->line_too_long && parse_line(&sym, k->line, k->line_bytes))
		r = add_symbol(k, &sym);
	k->line_bytes = 0;
	k->line_too_long = false;
	return r;
}

int kallsyms_add(struct kallsyms *k, const char *text, size_t len)
{
	while (len > 0) {
		const char *newline = memchr(text, '\n', len);
		size_t part = newline ? (size_t)(newline - text) : len;
		int r = 0;

		if (part > sizeof(k->line) - k->line_bytes) {
			k->line_too_long = true;
		} else {
			memcpy(k->line + k->line_bytes, text, part);
			k->line_bytes += (uint32_t)part;
		}
		if (newline)
			r = finish_line(k);
		if (r < 0)
			return r;
		text += part + (newline != NULL);
		len -= part + (newline != NULL);
	}
	return 0;
}

static uint32_t name_of(uint64_t entry)
{
	return (uint32_t)entry;
}

static uint64_t address_of(const struct kallsyms *k, uint64_t entry)
{
	return k->base + (entry >> 32);
}

/* Drops entries without a name that do not end a function. */
static void drop_idle_ends(struct kallsyms *k)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->n; i++) {
		uint64_t e = k->entries[i];

		if (name_of(e) == NAME_NONE && (n == 0 || name_of(k->entries[n - 1]) == NAME_NONE ||
						k->entries[n - 1] >> 32 == e >> 32))
			continue;
		k->entries[n++] = e;
	}
	k->n = n;
}

static int shrink(struct kallsyms *k)
{
	uint64_t *entries;
	int r;

	if (k->n > 0) {
		entries = realloc(k->entries, k->n * sizeof(*entries));
		if (!entries)
			return -ENOMEM;
		k->entries = entries;
		k->capacity = k->n;
	}
	r = packed_text_new(&k->packed, k->names ? k->names : "", k->names_bytes);
	if (r < 0)
		return r;
	free(k->names);
	k->names = NULL;
	k->names_capacity = 0;
	return 0;
}

int kallsyms_finish(struct kallsyms *k)
{
	int r;

	r = finish_line(k);
	if (r < 0)
		return r;
	word_sort(k->entries, k->n, sizeof(*k->entries));
	drop_idle_ends(k);
	r = shrink(k);
	if (r < 0)
		return r;
	return k->base == 0 && k->n_zero > 0 ? KALLSYMS_HIDDEN : KALLSYMS_READY;
}

/* Returns the number of entries at or before an address. */
static uint32_t entries_until(const struct kallsyms *k, uint64_t address)
{
	uint32_t lo = 0, hi = k->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (address_of(k, k->entries[mid]) <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static uint8_t owner_of(struct kallsyms *k, uint64_t entry)
{
	char owner = 0;

	packed_text_read(k->packed, name_of(entry), &owner, 1);
	return (uint8_t)owner;
}

static bool same_owner(struct kallsyms *k, uint64_t a, uint64_t b)
{
	return name_of(b) != NAME_NONE && owner_of(k, a) == owner_of(k, b);
}

/* Of several names at one address, the first in the file: the one that the kernel prints. */
static uint32_t first_alias(const struct kallsyms *k, uint32_t i)
{
	while (i > 0 && k->entries[i - 1] >> 32 == k->entries[i] >> 32)
		i--;
	return i;
}

const char *kallsyms_find(struct kallsyms *k, uint64_t address)
{
	uint32_t until = entries_until(k, address), first;
	size_t len;

	if (until == 0 || address < k->base || name_of(k->entries[until - 1]) == NAME_NONE)
		return NULL;
	first = first_alias(k, until - 1);
	if (address - address_of(k, k->entries[first]) >= KALLSYMS_GAP_MAX_BYTES &&
	    (until == k->n || !same_owner(k, k->entries[first], k->entries[until])))
		return NULL;
	len = packed_text_read(k->packed, name_of(k->entries[first]) + 1, k->line,
			       sizeof(k->line) - 1);
	k->line[len] = '\0'; /* the name ends at its own NUL, before that */
	return k->line;
}

size_t kallsyms_count(const struct kallsyms *k)
{
	return k->n;
}

size_t kallsyms_bytes(const struct kallsyms *k)
{
	return sizeof(*k) + k->capacity * sizeof(*k->entries) + k->names_capacity +
	       (k->packed ? packed_text_bytes(k->packed) : 0);
}
