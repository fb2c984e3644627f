#include "node-agent/profile/code_places.h"

#include <errno.h>
#include <limits.h>

#include "common/data/array.h"
#include "common/data/intern.h"
#include "common/data/number_table.h"
#include "common/text/utf8.h"

/* Above all programs that are linked to a fixed address. */
#define FIRST_BASE (UINT64_C(1) << 33)
#define BASE_STEP (UINT64_C(2) << 20)
#define LAST_BASE (UINT64_C(1) << 46)
#define STRINGS_MAX_BYTES ((size_t)1024 * 1024)

struct mapping_info {
	uint32_t file;    /* symbol_file.number */
	const char *name; /* base name, as unresolved addresses begin with */
	uint64_t base;
	uint32_t n_named, n_unresolved; /* places */
};

struct code_places {
	struct number_table places;
	struct profile_mapping *mappings;
	struct mapping_info *infos; /* of each */
	size_t n, max_mappings, max_infos;
	struct intern *strings;
	uint64_t next_base;
};

int code_places_new(struct code_places **ret, size_t max_bytes)
{
	CLEANUP(code_places_freep) struct code_places *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	number_table_init(&c->places, sizeof(struct code_place), max_bytes);
	c->next_base = FIRST_BASE;
	r = intern_new(&c->strings, STRINGS_MAX_BYTES);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void code_places_free(struct code_places *c)
{
	if (!c)
		return;
	free(c->mappings);
	free(c->infos);
	intern_free(c->strings);
	number_table_fini(&c->places);
	free(c);
}

/* ---- mappings ---- */

static bool is_same(const struct code_places *c, size_t i, const struct symbol_file *f)
{
	const struct profile_mapping *m = &c->mappings[i];

	if (m->end - m->start != f->end - f->start || m->offset != f->offset)
		return false;
	/* copies of a file in several containers */
	return c->infos[i].file == f->number ||
	       (f->build_id[0] && strcmp(m->build_id.data, f->build_id) == 0 &&
		strcmp(c->infos[i].name, f->name) == 0);
}

static int reserve(struct code_places *c)
{
	int r;

	if (c->n == CODE_PLACES_MAPPINGS_MAX)
		return -ENOBUFS;
	r = ARRAY_RESERVE(c->mappings, c->max_mappings, c->n + 1);
	return r == 0 ? ARRAY_RESERVE(c->infos, c->max_infos, c->n + 1) : r;
}

/* Stores our copy of a text. Returns 0, -ENOMEM or -ENOBUFS. */
static int keep(struct code_places *c, const char *text, struct profile_string *ret)
{
	uint32_t id = 0;
	int r = intern_add(c->strings, text, strlen(text), &id);

	if (r < 0)
		return r == -EFBIG ? -ENOBUFS : r;
	ret->data = intern_get(c->strings, id, &ret->len);
	return 0;
}

static int keep_path(struct code_places *c, const char *path, struct profile_string *ret)
{
	char text[PATH_MAX];
	size_t len = strnlen(path, sizeof(text) - 1);

	memcpy(text, path, len);
	text[utf8_make_printable(text, len)] = '\0';
	return keep(c, text, ret);
}

static uint64_t take_base(struct code_places *c, const struct symbol_file *f)
{
	uint64_t base = c->next_base;

	if (!f->relocatable)
		return 0;
	c->next_base += (f->end + BASE_STEP - 1) / BASE_STEP * BASE_STEP;
	return base;
}

static int add_mapping(struct code_places *c, const struct symbol_file *f, bool is_main)
{
	struct profile_mapping m = {.offset = f->offset, .is_main = is_main};
	struct profile_string name;
	uint64_t base;
	int r = keep(c, f->name, &name);

	if (r == 0)
		r = keep_path(c, f->path, &m.file);
	if (r == 0)
		r = keep(c, f->build_id, &m.build_id);
	if (r < 0)
		return r;
	base = take_base(c, f);
	m.start = base + f->start;
	m.end = base + f->end;
	c->infos[c->n] = (struct mapping_info){.file = f->number, .name = name.data, .base = base};
	c->mappings[c->n++] = m;
	return 0;
}

int code_places_map(struct code_places *c, const struct symbol_file *f, bool is_main,
		    uint32_t *ret_mapping, uint64_t *ret_base)
{
	size_t i = 0;
	int r;

	while (i < c->n && !is_same(c, i, f))
		i++;
	if (i == c->n) {
		/* numbers in headers of a stranger's file */
		if (f->end <= f->start || f->end > LAST_BASE || c->next_base > LAST_BASE)
			return -ENOBUFS;
		r = reserve(c);
		if (r == 0)
			r = add_mapping(c, f, is_main);
		if (r < 0)
			return r;
	}
	c->mappings[i].is_main |= is_main;
	*ret_mapping = (uint32_t)i + 1;
	*ret_base = c->infos[i].base;
	return 0;
}

const struct profile_mapping *code_places_mappings(const struct code_places *c, size_t *ret_n)
{
	*ret_n = c->n;
	return c->mappings;
}

/* ---- places ---- */

static bool is_unresolved(const struct symbol_frame *f, const char *file)
{
	size_t len = strlen(file);

	return strncmp(f->function, file, len) == 0 && strncmp(f->function + len, "+0x", 3) == 0;
}

/*
 * Without functions tools look for symbols themselves, in all of the mapping. Of a stripped library
 * that would replace our names by those of neighbours, so most places must have none.
 */
static void note_names(struct code_places *c, const struct code_place *p)
{
	const struct symbol_frame *f = symbol_location_outermost(p->location);
	struct profile_mapping *m = &c->mappings[p->mapping - 1];
	struct mapping_info *t = &c->infos[p->mapping - 1];

	if (is_unresolved(f, t->name))
		t->n_unresolved++;
	else
		t->n_named++;
	m->has_functions = t->n_named > t->n_unresolved;
	m->has_lines |= f->line > 0;
	m->has_inlined |= p->location->n > 1;
}

int code_places_add(struct code_places *c, const struct code_place *place, uint32_t *ret)
{
	uint32_t n = c->places.n;
	int r = number_table_add(&c->places, place, ret);

	if (r == 0 && c->places.n > n && place->mapping > 0)
		note_names(c, place);
	return r;
}

void code_places_seal(struct code_places *c)
{
	number_table_fini(&c->places);
}

const struct code_place *code_places_get(const struct code_places *c, uint32_t number)
{
	return number_table_get(&c->places, number);
}
