#include "common/flame/pair_table.h"

#include <errno.h>

#include "common/data/table.h"

void pair_table_fini(struct pair_table *t)
{
	free(t->slots);
	*t = (struct pair_table){0};
}

/*
 * Returns the slot of (a, b), or the free one where it belongs; one is always free. Without the
 * seed, an application could choose stacks whose hashes all share a slot.
 */
static struct pair_slot *probe(const struct pair_table *t, uint32_t a, uint32_t b)
{
	const uint64_t key = (uint64_t)a << 32 | b;
	uint32_t i =
		(uint32_t)XXH3_64bits_withSeed(&key, sizeof(key), table_seed) & (t->n_slots - 1);

	for (;; i = (i + 1) & (t->n_slots - 1)) {
		struct pair_slot *s = &t->slots[i];

		if (s->value == PAIR_TABLE_ABSENT || (s->a == a && s->b == b))
			return s;
	}
}

uint32_t pair_table_find(const struct pair_table *t, uint32_t a, uint32_t b)
{
	return t->n_slots ? probe(t, a, b)->value : PAIR_TABLE_ABSENT;
}

static int grow(struct pair_table *t)
{
	struct pair_table bigger = {.n_slots = t->n_slots ? t->n_slots * 2 : 1024,
				    .n_used = t->n_used};

	if (bigger.n_slots == 0)
		return -ENOMEM;
	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < bigger.n_slots; i++)
		bigger.slots[i].value = PAIR_TABLE_ABSENT;
	for (uint32_t i = 0; i < t->n_slots; i++)
		if (t->slots[i].value != PAIR_TABLE_ABSENT)
			*probe(&bigger, t->slots[i].a, t->slots[i].b) = t->slots[i];
	free(t->slots);
	*t = bigger;
	return 0;
}

int pair_table_add(struct pair_table *t, uint32_t a, uint32_t b, uint32_t value)
{
	if (t->n_used >= t->n_slots / 4 * 3) {
		int r = grow(t);

		if (r < 0)
			return r;
	}
	*probe(t, a, b) = (struct pair_slot){.a = a, .b = b, .value = value};
	t->n_used++;
	return 0;
}
