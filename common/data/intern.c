/*
 * The string table of a pprof: most strings are added many times, so the lookup must be fast,
 * and they are read back once, in order of id. Hence a table by text for the first and an array
 * by id for the second, both pointing to entries in one arena: a malloc() per string would cost
 * more than the strings.
 */
#include "common/data/intern.h"

#include <errno.h>

#include "common/data/arena.h"
#include "common/data/table.h"

struct entry {
	UT_hash_handle hh; /* key: text */
	uint32_t id;
	uint32_t len;
	char text[];
};

struct intern {
	struct arena arena; /* holds the entries */
	struct entry *table;
	struct entry **by_id; /* n of cap are used; [0] is NULL and stands for "" */
	uint32_t n;
	uint32_t cap;
	size_t used_bytes;
	size_t limit_bytes;
};

int intern_new(struct intern **ret, size_t limit_bytes)
{
	CLEANUP(intern_freep) struct intern *in = NULL;

	in = calloc(1, sizeof(*in));
	if (!in)
		return -ENOMEM;
	arena_init(&in->arena, SIZE_MAX);
	in->limit_bytes = limit_bytes;

	in->cap = 64;
	in->by_id = calloc(in->cap, sizeof(*in->by_id));
	if (!in->by_id)
		return -ENOMEM;
	in->n = 1;

	*ret = TAKE_PTR(in);
	return 0;
}

void intern_free(struct intern *in)
{
	if (!in)
		return;
	/* the entries themselves are freed with the arena */
	HASH_CLEAR(hh, in->table);
	arena_fini(&in->arena);
	free(in->by_id);
	free(in);
}

static int reserve_id(struct intern *in)
{
	struct entry **by_id;

	if (in->n < in->cap)
		return 0;
	if (in->cap > UINT32_MAX / 2)
		return -EFBIG;
	by_id = realloc(in->by_id, sizeof(struct entry *) * in->cap * 2);
	if (!by_id)
		return -ENOMEM;
	in->by_id = by_id;
	in->cap *= 2;
	return 0;
}

static int add_new(struct intern *in, const char *s, size_t len, uint32_t hash)
{
	struct entry *e;
	int r;

	if (len >= UINT32_MAX || len >= in->limit_bytes - in->used_bytes)
		return -EFBIG;
	r = reserve_id(in);
	if (r < 0)
		return r;

	e = arena_alloc(&in->arena, sizeof(*e) + len + 1);
	if (!e)
		return -ENOMEM;
	*e = (struct entry){.id = in->n, .len = (uint32_t)len};
	memcpy(e->text, s, len);
	e->text[len] = '\0';
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, in->table, e->text, len, hash, e);
	if (!TABLE_ADDED(hh, e))
		return -ENOMEM;

	in->by_id[in->n++] = e;
	in->used_bytes += len + 1;
	return 0;
}

int intern_add(struct intern *in, const char *s, size_t len, uint32_t *ret_id)
{
	struct entry *e;
	uint32_t hash;
	int r;

	if (len == 0) {
		*ret_id = 0;
		return 0;
	}
	hash = table_hash(s, len);
	HASH_FIND_BYHASHVALUE(hh, in->table, s, len, hash, e);
	if (e) {
		*ret_id = e->id;
		return 0;
	}
	r = add_new(in, s, len, hash);
	if (r < 0)
		return r;
	*ret_id = in->n - 1;
	return 0;
}

const char *intern_get(const struct intern *in, uint32_t id, size_t *ret_len)
{
	const struct entry *e = in->by_id[id];

	*ret_len = e ? e->len : 0;
	return e ? e->text : "";
}

uint32_t intern_count(const struct intern *in)
{
	return in->n;
}
