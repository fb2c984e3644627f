#include "node-agent/go/goroutine/goroutine_groups.h"

#include <errno.h>

#include "common/data/arena.h"
#include "common/data/table.h"

/* The key is one word with status, wait reason and no_stack, followed by the pcs. */
struct entry {
	struct goroutine_group group;
	UT_hash_handle hh;
	uint64_t key[];
};

struct goroutine_groups {
	struct arena arena;
	struct entry *entries;
	uint64_t key[1 + GOROUTINE_STACK_DEPTH_MAX]; /* of the place that is looked up */
};

int goroutine_groups_new(struct goroutine_groups **ret, size_t max_bytes)
{
	struct goroutine_groups *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	arena_init(&g->arena, max_bytes);
	*ret = g;
	return 0;
}

void goroutine_groups_free(struct goroutine_groups *g)
{
	if (!g)
		return;
	HASH_CLEAR(hh, g->entries);
	arena_fini(&g->arena);
	free(g);
}

static int add(struct goroutine_groups *g, const struct goroutine_place *place, size_t key_bytes,
	       struct entry **ret)
{
	size_t size = sizeof(struct entry) + key_bytes;
	struct entry *e = arena_calloc(&g->arena, 1, size);

	if (!e)
		return arena_error(&g->arena, size) == -EFBIG ? -ENOBUFS : -ENOMEM;
	memcpy(e->key, g->key, key_bytes);
	e->group.place = *place;
	e->group.place.pcs = e->key + 1;
	HASH_ADD_KEYPTR(hh, g->entries, e->key, (unsigned)key_bytes, e);
	if (!TABLE_ADDED(hh, e))
		return -ENOMEM;
	*ret = e;
	return 0;
}

int goroutine_groups_find(struct goroutine_groups *g, const struct goroutine_place *place,
			  struct goroutine_group **ret)
{
	size_t key_bytes = (1 + place->n_pcs) * sizeof(*g->key);
	struct entry *e;
	int r;

	g->key[0] =
		(uint64_t)place->no_stack << 16 | (uint64_t)place->wait_reason << 8 | place->status;
	if (place->n_pcs > 0)
		memcpy(g->key + 1, place->pcs, place->n_pcs * sizeof(*g->key));
	HASH_FIND(hh, g->entries, g->key, (unsigned)key_bytes, e);
	if (!e) {
		r = add(g, place, key_bytes, &e);
		if (r < 0)
			return r;
	}
	*ret = &e->group;
	return 0;
}

void goroutine_group_count(struct goroutine_group *group, const struct goroutine *g)
{
	bool longer = g->wait_since_ns != 0 &&
		      (group->wait_since_ns == 0 || g->wait_since_ns < group->wait_since_ns);

	if (group->n++ == 0 || longer) {
		group->id = g->id;
		group->wait_since_ns = g->wait_since_ns;
	}
}

/* Groups of equal size are ordered by id, so that the output is stable. */
static int by_size(const void *a, const void *b)
{
	const struct goroutine_group *x = *(const struct goroutine_group *const *)a,
				     *y = *(const struct goroutine_group *const *)b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

int goroutine_groups_sorted(const struct goroutine_groups *g, const struct goroutine_group ***ret,
			    size_t *ret_n)
{
	const struct goroutine_group **groups;
	size_t n = 0;

	groups = calloc(HASH_COUNT(g->entries) + 1, sizeof(const struct goroutine_group *));
	if (!groups)
		return -ENOMEM;
	for (const struct entry *e = g->entries; e; e = e->hh.next) {
		if (e->group.n > 0)
			groups[n++] = &e->group;
	}
	qsort(groups, n, sizeof(const struct goroutine_group *), by_size);
	*ret = groups;
	*ret_n = n;
	return 0;
}
