#include "node-agent/go/target/go_layouts.h"

#include <errno.h>

#include "common/data/table.h"

#define PLACES 4u /* of a key */

struct entry {
	UT_hash_handle hh;
	struct file_version file;
	struct go_known_file known;
};

struct go_layouts {
	struct entry *table;
};

int go_layouts_new(struct go_layouts **ret)
{
	struct go_layouts *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	*ret = l;
	return 0;
}

static void forget(struct go_layouts *l)
{
	struct entry *e, *next;

	for (e = l->table; e; e = next) {
		next = e->hh.next;
		HASH_DEL(l->table, e);
		table_free(e);
	}
}

void go_layouts_free(struct go_layouts *l)
{
	if (!l)
		return;
	forget(l);
	free(l);
}

struct go_known_file *go_layouts_find(const struct go_layouts *l, const struct file_version *file)
{
	struct entry *e;

	HASH_FIND(hh, l->table, file, sizeof(*file), e);
	return e ? &e->known : NULL;
}

int go_layouts_add(struct go_layouts *l, const struct file_version *file,
		   const struct go_known_file *known)
{
	struct entry *e;

	if (HASH_COUNT(l->table) >= GO_LAYOUTS_MAX)
		forget(l);
	e = table_malloc(sizeof(*e));
	if (!e)
		return -ENOMEM;
	*e = (struct entry){.file = *file, .known = *known};
	HASH_ADD(hh, l->table, file, sizeof(e->file), e);
	if (!TABLE_ADDED(hh, e)) {
		table_free(e);
		return -ENOMEM;
	}
	return 0;
}

/* ---- notes ---- */

static size_t place(uint64_t key, size_t i)
{
	return (size_t)(key + i) % GO_FILE_NOTES;
}

uint8_t go_file_notes_get(const struct go_file_notes *n, uint64_t key)
{
	for (size_t i = 0; i < PLACES; i++) {
		if (n->at[place(key, i)].key == key)
			return n->at[place(key, i)].note;
	}
	return 0;
}

void go_file_notes_add(struct go_file_notes *n, uint64_t key, uint8_t note)
{
	size_t at = place(key, 0);

	for (size_t i = 0; i < PLACES && n->at[at].note != 0; i++)
		at = place(key, i);
	n->at[at].key = key;
	n->at[at].note = note;
}
