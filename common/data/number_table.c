#include "common/data/number_table.h"

#include "common/data/array.h"
#include "common/data/table.h"

void number_table_init(struct number_table *t, size_t element_bytes, size_t max_bytes)
{
	*t = (struct number_table){.element_bytes = element_bytes, .max_bytes = max_bytes};
}

void number_table_fini(struct number_table *t)
{
	free(t->elements);
	number_index_fini(&t->index);
	*t = (struct number_table){0};
}

void number_table_seal(struct number_table *t)
{
	number_index_fini(&t->index);
}

/* Makes room for one more element. */
static int reserve(struct number_table *t)
{
	size_t cap = t->cap, bytes;
	uint8_t *elements;

	bytes = (t->n == t->cap ? 2 * cap : cap) * t->element_bytes;
	if (t->n == UINT32_MAX / 2 ||
	    bytes + number_index_bytes_with_one_more(&t->index) > t->max_bytes)
		return -ENOBUFS;
	if (t->n < t->cap)
		return 0;
	elements = array_grow(t->elements, &cap, cap + 1, t->element_bytes, UINT32_MAX);
	if (!elements)
		return -ENOMEM;
	t->elements = elements;
	t->cap = (uint32_t)cap;
	return 0;
}

int number_table_add(struct number_table *t, const void *element, uint32_t *ret)
{
	uint32_t hash = table_hash(element, t->element_bytes), at = hash;
	int r;

	while (number_index_next(&t->index, hash, &at, ret)) {
		if (memcmp(number_table_get(t, *ret), element, t->element_bytes) == 0)
			return 0;
	}
	r = reserve(t);
	if (r == 0)
		r = number_index_add(&t->index, hash, t->n);
	if (r < 0)
		return r;
	memcpy(t->elements + t->n * t->element_bytes, element, t->element_bytes);
	*ret = t->n++;
	return 0;
}
