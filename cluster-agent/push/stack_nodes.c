#include "cluster-agent/push/stack_nodes.h"

#include <errno.h>

#include "common/data/table.h"

#define FIRST_NODES 256u

static int grow(struct stack_nodes *s)
{
	uint32_t n = s->max ? 2 * s->max : FIRST_NODES;
	struct stack_node *more;
	struct hash_index by_hash;
	int e;

	if (s->n >= STACK_NODES_MAX)
		return -EFBIG;
	more = arena_alloc(s->arena, n * sizeof(*more));
	if (!more)
		return arena_error(s->arena, n * sizeof(*more));
	if (s->n > 0)
		memcpy(more, s->nodes, s->n * sizeof(*more));
	e = hash_index_init(&by_hash, s->arena, n, more, sizeof(*more));
	if (e < 0)
		return e;
	for (uint32_t i = 0; i < s->n; i++)
		*hash_index_slot(&by_hash, more[i].hash) = i + 1;
	s->nodes = more;
	s->max = n;
	s->by_hash = by_hash;
	return 0;
}

static uint64_t hash_of(uint32_t parent, uint32_t frame)
{
	const uint32_t key[] = {parent, frame};

	return XXH3_64bits_withSeed(key, sizeof(key), table_seed);
}

static uint32_t add(struct stack_nodes *s, uint32_t parent, uint32_t frame, uint64_t hash)
{
	s->nodes[s->n] = (struct stack_node){.hash = hash, .parent = parent, .frame = frame};
	*hash_index_slot(&s->by_hash, hash) = s->n + 1;
	return s->n++;
}

int stack_nodes_init(struct stack_nodes *s, struct arena *arena)
{
	int e;

	*s = (struct stack_nodes){.arena = arena};
	e = grow(s);
	if (e == 0)
		add(s, 0, UINT32_MAX, hash_of(0, UINT32_MAX));
	return e;
}

int stack_nodes_child(struct stack_nodes *s, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint64_t hash = hash_of(parent, frame);
	uint32_t slot = *hash_index_slot(&s->by_hash, hash);
	int e = 0;

	if (slot > 0) {
		*ret = slot - 1;
		return 0;
	}
	if (s->n == s->max)
		e = grow(s);
	if (e == 0)
		*ret = add(s, parent, frame, hash);
	return e;
}
