#include "cluster-agent/push/stack_nodes.h"

#include <errno.h>

#define FIRST_NODES 256u

static int grow(struct stack_nodes *s)
{
	uint32_t n = s->max ? 2 * s->max : FIRST_NODES;
	struct stack_node *more;

	if (s->n >= STACK_NODES_MAX)
		return -EFBIG;
	more = arena_alloc(s->arena, n * sizeof(*more));
	if (!more)
		return arena_error(s->arena, n * sizeof(*more));
	if (s->n > 0)
		memcpy(more, s->nodes, s->n * sizeof(*more));
	s->nodes = more;
	s->max = n;
	return 0;
}

static uint32_t hash_of(uint32_t parent, uint32_t frame)
{
	return number_hash((uint64_t)parent << 32 | frame);
}

static int add(struct stack_nodes *s, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	int e = s->n == s->max ? grow(s) : 0;

	if (e == 0)
		e = number_index_add(&s->by_frame, hash_of(parent, frame), s->n);
	if (e < 0)
		return e;
	*ret = s->n++;
	s->nodes[*ret] = (struct stack_node){.parent = parent, .frame = frame};
	return 0;
}

int stack_nodes_init(struct stack_nodes *s, struct arena *arena)
{
	uint32_t root;

	*s = (struct stack_nodes){.arena = arena, .by_frame = {.arena = arena}};
	return add(s, 0, UINT32_MAX, &root);
}

int stack_nodes_child(struct stack_nodes *s, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint32_t at = hash_of(parent, frame);

	while (number_index_next(&s->by_frame, hash_of(parent, frame), &at, ret)) {
		if (s->nodes[*ret].parent == parent && s->nodes[*ret].frame == frame)
			return 0;
	}
	return add(s, parent, frame, ret);
}
