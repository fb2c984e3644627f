#include "node-agent/go/target/go_file_cache.h"

#include <errno.h>

#include "common/data/table.h"

struct entry {
	UT_hash_handle hh;
	struct file_version file;
	struct go_file_facts facts;
};

struct go_file_cache {
	struct entry *table;
};

int go_file_cache_new(struct go_file_cache **ret)
{
	struct go_file_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	*ret = c;
	return 0;
}

static void clear(struct go_file_cache *c)
{
	struct entry *e, *next;

	for (e = c->table; e; e = next) {
		next = e->hh.next;
		HASH_DEL(c->table, e);
		file_notes_clear(&e->facts.notes);
		table_free(e);
	}
}

void go_file_cache_free(struct go_file_cache *c)
{
	if (!c)
		return;
	clear(c);
	free(c);
}

struct go_file_facts *go_file_cache_find(const struct go_file_cache *c,
					 const struct file_version *file)
{
	struct entry *e;

	HASH_FIND(hh, c->table, file, sizeof(*file), e);
	return e ? &e->facts : NULL;
}

int go_file_cache_add(struct go_file_cache *c, const struct file_version *file,
		      const struct go_file_facts *facts)
{
	struct entry *e;

	if (HASH_COUNT(c->table) >= GO_FILE_CACHE_MAX)
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
