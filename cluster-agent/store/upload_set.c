#include "cluster-agent/store/upload_set.h"

#include <errno.h>

#include "common/data/table.h"

struct entry {
	struct upload_id id;
	unsigned n_tables;
	UT_hash_handle hh;
};

/* A table is iterated in the order of insertion, so its head is the entry put longest ago. */
struct upload_set {
	struct entry *entries;
};

int upload_set_new(struct upload_set **ret)
{
	struct upload_set *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*ret = s;
	return 0;
}

static struct entry *find(const struct upload_set *s, struct upload_id id)
{
	struct entry *e;

	HASH_FIND(hh, s->entries, &id, sizeof(id), e);
	return e;
}

static void drop(struct upload_set *s, struct entry *e)
{
	HASH_DEL(s->entries, e);
	free(e);
}

void upload_set_free(struct upload_set *s)
{
	if (!s)
		return;
	while (s->entries)
		drop(s, s->entries);
	free(s);
}

unsigned upload_set_get(const struct upload_set *s, struct upload_id id)
{
	const struct entry *e = find(s, id);

	return e ? e->n_tables : 0;
}

/*
 * An entry is taken out and added again so that it becomes the youngest. The one that is evicted
 * from a full set serves as the new one: then there is nothing to allocate that could fail.
 */
void upload_set_put(struct upload_set *s, struct upload_id id, unsigned n_tables)
{
	struct entry *e = find(s, id);

	if (!e && HASH_COUNT(s->entries) == UPLOAD_SET_MAX)
		e = s->entries;
	if (e)
		HASH_DEL(s->entries, e);
	else
		e = calloc(1, sizeof(*e));
	if (!e)
		return;
	e->id = id;
	e->n_tables = n_tables;
	HASH_ADD(hh, s->entries, id, sizeof(e->id), e);
	if (!TABLE_ADDED(hh, e))
		free(e);
}
