/*
 * Compares the symbolizer's names for a file with those of nm(1).
 *
 * It looks up the first, a middle and the last byte of every function, and the byte behind
 * each function if that belongs to none. A name is right if some function with that name
 * contains the address, and wrong if nm lists another function there, or none. Addresses
 * without a name are only counted.
 */
#ifndef TEST_LIB_SYMBOL_TRUTH_H
#define TEST_LIB_SYMBOL_TRUTH_H

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "common/elf/elf_layout.h"
#include "common/symbols/demangle.h"
#include "node-agent/symbol/symbolizer.h"

#define TRUTH_GO_PADDING_BYTES 64u

struct truth_symbol {
	uint64_t start;
	uint64_t size;
	char *name;
};

struct truth {
	struct truth_symbol *symbols; /* by start */
	size_t n;
};

struct truth_result {
	size_t right;
	size_t unresolved; /* of addresses in functions */
	size_t gaps;       /* addresses in no function, shown as such */
	size_t wrong;
};

static inline int truth_compare(const void *a, const void *b)
{
	const struct truth_symbol *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * Go's linker writes main.Map[go.shape.int] into .symtab, main.Map[...] into .gopclntab: []
 * here.
 */
static inline void truth_normalize(char *name)
{
	size_t len = strlen(name);
	char *open, *close;

	if (len > 5 && strcmp(name + len - 5, ".abi0") == 0)
		name[len - 5] = '\0';
	/* and its .symtab has a plain dot for the middle one */
	for (char *dot = name; (dot = strstr(dot, "\u00b7")) != NULL;) {
		*dot = '.';
		memmove(dot + 1, dot + 2, strlen(dot + 2) + 1);
	}
	open = strchr(name, '[');
	close = strrchr(name, ']');
	if (open && close > open)
		memmove(open + 1, close, strlen(close) + 1);
}

/* From the output of nm -S: "address [size] type name". */
static inline void truth_read(struct truth *t, FILE *f)
{
	char line[16384];
	size_t cap = 0;

	memset(t, 0, sizeof(*t));
	while (fgets(line, sizeof(line), f)) {
		struct truth_symbol s = {0};
		char type, shown[1025];
		int name = 0;

		line[strcspn(line, "\n")] = '\0';
		/* a type such as D could be read as a size */
		if (strlen(line) > 34 && line[33] == ' ') {
			if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %n", &s.start, &s.size, &type,
				   &name) != 3)
				continue;
		} else if (sscanf(line, "%" SCNx64 " %c %n", &s.start, &type, &name) != 2) {
			continue;
		}
		if (!strchr("tTwWiu", type) || !line[name])
			continue;
		demangle(line + name, shown, sizeof(shown));
		truth_normalize(shown);
		if (t->n == cap) {
			cap = cap ? 2 * cap : 1024;
			t->symbols = realloc(t->symbols, cap * sizeof(s));
			assert(t->symbols);
		}
		s.name = strdup(shown);
		assert(s.name);
		t->symbols[t->n++] = s;
	}
	if (t->n > 0)
		qsort(t->symbols, t->n, sizeof(*t->symbols), truth_compare);
}

static inline void truth_fini(struct truth *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->symbols[i].name);
	free(t->symbols);
}

/*
 * Whether a function of this name (NULL: any) has the address, or ends less than padding bytes
 * before it.
 */
static inline bool truth_allows(const struct truth *t, uint64_t address, const char *name,
				uint64_t padding)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (t->symbols[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 1; back <= 256 && back <= lo; back++) {
		const struct truth_symbol *s = &t->symbols[lo - back];
		/* a function without a size may reach to the next one */
		bool has = s->size > 0 ? address - s->start < s->size + padding
				       : name && s->start >= t->symbols[lo - 1].start;

		if (has && (!name || strcmp(s->name, name) == 0))
			return true;
	}
	return false;
}

struct truth_check {
	const struct truth *truth;
	struct symbolizer *symbolizer;
	struct symbol_mapping mapping;
	struct elf_layout layout;
	uint64_t padding;
	struct truth_result result;
};

static inline void truth_ask(struct truth_check *c, uint64_t vaddr)
{
	bool in_function = truth_allows(c->truth, vaddr, NULL, 0);
	const struct symbol_location *l;
	char shown[1025];
	uint64_t offset;

	if (elf_layout_offset(&c->layout, vaddr, &offset) < 0)
		return;
	l = symbolizer_resolve_user(c->symbolizer, &c->mapping, offset, SYMBOL_ADDRESS_EXACT);
	snprintf(shown, sizeof(shown), "%s", symbol_location_outermost(l)->function);
	truth_normalize(shown);
	if (strstr(shown, "+0x") || strstr(shown, "@plt")) {
		c->result.unresolved += in_function;
		if (in_function && getenv("TRUTH_VERBOSE"))
			fprintf(stderr, "  unresolved: %#" PRIx64 "\n", vaddr);
		c->result.gaps += !in_function;
	} else if (truth_allows(c->truth, vaddr, shown, in_function ? 0 : c->padding)) {
		c->result.right += in_function;
		c->result.gaps += !in_function;
	} else {
		c->result.wrong++;
		if (c->result.wrong <= 10)
			fprintf(stderr, "  wrong: %#" PRIx64 " is not in %s\n", vaddr, shown);
	}
}

/* Returns 0 or -1; truth_check_close() releases it in both cases. */
static inline int truth_check_open_with(struct truth_check *c, const char *path,
					const struct symbolizer_config *cfg)
{
	struct byte_source src;
	struct file_version version;

	c->mapping = (struct symbol_mapping){.path = path};
	c->mapping.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (c->mapping.fd < 0 || file_version_read(c->mapping.fd, "", &version, NULL) < 0)
		return -1;
	c->mapping.id = version.id;
	byte_source_from_fd(&src, c->mapping.fd, version.id.size_bytes);
	if (elf_layout_parse(&c->layout, &src) < 0 || symbolizer_new(&c->symbolizer, cfg) < 0)
		return -1;
	/* .gopclntab has the starts of functions, not their ends */
	c->padding = c->layout.is_go ? TRUTH_GO_PADDING_BYTES : 0;
	return 0;
}

static inline int truth_check_open(struct truth_check *c, const char *path)
{
	const struct symbolizer_config cfg = {.n_addresses = 64};

	return truth_check_open_with(c, path, &cfg);
}

static inline void truth_check_close(struct truth_check *c)
{
	symbolizer_free(c->symbolizer);
	if (c->mapping.fd >= 0)
		close(c->mapping.fd);
}

static inline int truth_check(const struct truth *t, const char *path, struct truth_result *ret)
{
	struct truth_check c = {.truth = t};
	int r = truth_check_open(&c, path);

	for (size_t i = 0; r == 0 && i < t->n; i++) {
		const struct truth_symbol *s = &t->symbols[i];

		if (s->size == 0)
			continue;
		truth_ask(&c, s->start);
		truth_ask(&c, s->start + s->size / 2);
		truth_ask(&c, s->start + s->size - 1);
		if (!truth_allows(t, s->start + s->size, NULL, 0))
			truth_ask(&c, s->start + s->size);
		if (i % 1000 == 999)
			symbolizer_end_cycle(c.symbolizer);
	}
	truth_check_close(&c);
	*ret = c.result;
	return r;
}

#endif /* TEST_LIB_SYMBOL_TRUTH_H */
