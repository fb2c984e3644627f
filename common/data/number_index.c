#include "common/data/number_index.h"

#include <errno.h>

#define FIRST_SLOTS 64u

void number_index_fini(struct number_index *x)
{
	if (!x->arena)
		free(x->slots);
	*x = (struct number_index){0};
}

void number_index_clear(struct number_index *x)
{
	if (x->slots)
		memset(x->slots, 0, x->n_slots * sizeof(*x->slots));
	x->n = 0;
}

static uint32_t slots_with_one_more(const struct number_index *x)
{
	if (x->n_slots == 0)
		return FIRST_SLOTS;
	return x->n < x->n_slots / 4 * 3 ? x->n_slots : x->n_slots * 2;
}

size_t number_index_bytes_with_one_more(const struct number_index *x)
{
	return slots_with_one_more(x) * sizeof(*x->slots);
}

static void put(struct number_index *x, uint64_t slot)
{
	uint32_t i = (uint32_t)(slot >> 32) & (x->n_slots - 1);

	while (x->slots[i] != 0)
		i = (i + 1) & (x->n_slots - 1);
	x->slots[i] = slot;
}

static int grow(struct number_index *x, uint32_t n_slots)
{
	struct number_index larger = {.n_slots = n_slots, .n = x->n, .arena = x->arena};

	/* doubled beyond 32 bits */
	if (n_slots == 0)
		return -ENOMEM;
	larger.slots = x->arena ? arena_calloc(x->arena, n_slots, sizeof(*larger.slots))
				: calloc(n_slots, sizeof(*larger.slots));
	if (!larger.slots)
		return x->arena ? arena_error(x->arena, n_slots * sizeof(*larger.slots)) : -ENOMEM;
	for (uint32_t i = 0; i < x->n_slots; i++) {
		if (x->slots[i] != 0)
			put(&larger, x->slots[i]);
	}
	number_index_fini(x);
	*x = larger;
	return 0;
}

int number_index_reserve(struct number_index *x, uint32_t n)
{
	uint32_t n_slots = x->n_slots ? x->n_slots : FIRST_SLOTS;

	while (n_slots > 0 && n > n_slots / 4 * 3)
		n_slots *= 2;
	return n_slots == x->n_slots ? 0 : grow(x, n_slots);
}

int number_index_add(struct number_index *x, uint32_t hash, uint32_t number)
{
	int r = number_index_reserve(x, x->n + 1);

	if (r < 0)
		return r;
	put(x, (uint64_t)hash << 32 | (number + UINT64_C(1)));
	x->n++;
	return 0;
}
