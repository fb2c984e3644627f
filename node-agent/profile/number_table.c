#include "node-agent/profile/number_table.h"

#include <errno.h>

#include "common/data/table.h"

#define FIRST_ELEMENTS 64u
#define CAP_MAX (UINT32_MAX / 4) /* twice as many slots are numbered, too */

void number_table_init(struct number_table *t, size_t element_bytes, size_t max_bytes)
{
	*t = (struct number_table){.element_bytes = element_bytes, .max_bytes = max_bytes};
}

void number_table_fini(struct number_table *t)
{
	free(t->elements);
	free(t->slots);
	*t = (struct number_table){0};
}

void number_table_seal(struct number_table *t)
{
	free(TAKE_PTR(t->slots));
}

/* Returns the slot of an element, or the free one where it belongs; one is always free. */
static uint32_t *probe(const struct number_table *t, const void *element)
{
	uint32_t mask = 2 * t->cap - 1, i = table_hash(element, t->element_bytes) & mask;

	for (;; i = (i + 1) & mask) {
		uint32_t *slot = &t->slots[i];

		if (*slot == 0 ||
		    memcmp(number_table_get(t, *slot - 1), element, t->element_bytes) == 0)
			return slot;
	}
}

static int grow(struct number_table *t)
{
	size_t cap = t->cap ? (size_t)t->cap * 2 : FIRST_ELEMENTS;
	size_t slots_bytes = 2 * cap * sizeof(*t->slots);
	uint8_t *elements;
	uint32_t *slots;

	if (cap > CAP_MAX || cap * t->element_bytes + slots_bytes > t->max_bytes)
		return -ENOBUFS;
	elements = realloc(t->elements, cap * t->element_bytes);
	if (!elements)
		return -ENOMEM;
	t->elements = elements;
	slots = calloc(1, slots_bytes);
	if (!slots)
		return -ENOMEM;
	free(t->slots);
	t->slots = slots;
	t->cap = (uint32_t)cap;
	for (uint32_t i = 0; i < t->n; i++)
		*probe(t, number_table_get(t, i)) = i + 1;
	return 0;
}

int number_table_add(struct number_table *t, const void *element, uint32_t *ret)
{
	uint32_t *slot = t->cap ? probe(t, element) : NULL;

	if (!slot || (*slot == 0 && t->n == t->cap)) {
		int r = grow(t);

		if (r < 0)
			return r;
		slot = probe(t, element);
	}
	if (*slot == 0) {
		memcpy(t->elements + t->n * t->element_bytes, element, t->element_bytes);
		*slot = ++t->n;
	}
	*ret = *slot - 1;
	return 0;
}
