#include "node-agent/target/program_file_cache.h"

#include <errno.h>

#include "common/data/table.h"

struct entry {
	UT_hash_handle hh;
	struct file_version file;
	struct program_file_facts facts;
};

struct program_file_cache {
	struct entry *table;
};

int program_file_cache_new(struct program_file_cache **ret)
{
	struct program_file_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	*ret = c;
	return 0;
}

static void clear(struct program_file_cache *c)
{
	struct entry *e, *next;

	for (e = c->table; e; e = next) {
		next = e->hh.next;
		HASH_DEL(c->table, e);
		file_notes_clear(&e->facts.notes);
		table_free(e);
	}
}

void program_file_cache_free(struct program_file_cache *c)
{
	if (!c)
		return;
	clear(c);
	free(c);
}

struct program_file_facts *program_file_cache_find(const struct program_file_cache *c,
						   const struct file_version *file)
{
	struct entry *e;

	HASH_FIND(hh, c->table, file, sizeof(*file), e);
	return e ? &e->facts : NULL;
}

int program_file_cache_add(struct program_file_cache *c, const struct file_version *file,
			   const struct program_file_facts *facts)
{
	struct entry *e;

	if (HASH_COUNT(c->table) >= PROGRAM_FILE_CACHE_MAX)
		clear(c);
	e = table_malloc(sizeof(*e));
	if (!e)
		return -ENOMEM;
	*e = (struct entry){.file = *file, .facts = *facts};
	HASH_ADD(hh, c->table, file, sizeof(e->file), e);
	if (!TABLE_ADDED(hh, e)) {
		table_free(e);
		return -ENOMEM;
	}
	return 0;
}

/* ---- notes ---- */

struct file_note {
	UT_hash_handle hh;
	uint64_t key;
	uint8_t note;
};

void file_notes_clear(struct file_notes *n)
{
	struct file_note *e, *next;

	for (e = n->table; e; e = next) {
		next = e->hh.next;
		HASH_DEL(n->table, e);
		table_free(e);
	}
}

uint8_t file_notes_get(const struct file_notes *n, uint64_t key)
{
	struct file_note *e;

	HASH_FIND(hh, n->table, &key, sizeof(key), e);
	return e ? e->note : 0;
}

void file_notes_add(struct file_notes *n, uint64_t key, uint8_t note)
{
	struct file_note *e = n->table;

	/* the table is iterated in the order of insertion, so its head is the oldest */
	if (HASH_COUNT(n->table) == FILE_NOTES_MAX)
		HASH_DEL(n->table, e);
	else
		e = table_malloc(sizeof(*e));
	if (!e)
		return;
	*e = (struct file_note){.key = key, .note = note};
	HASH_ADD(hh, n->table, key, sizeof(e->key), e);
	if (!TABLE_ADDED(hh, e))
		table_free(e);
}
