/*
 * The ids lie in a ring in the order in which they were added. A table of indices into the ring,
 * open addressing with linear probing and a load of at most a half, finds them. What is forgotten
 * is removed by moving back the entries after it, so there are no tombstones to clear.
 */
#include "cluster-agent/wal/id_set.h"

#include <errno.h>

#include "common/data/table.h"

struct id_set {
	struct upload_id *ring;
	uint32_t *slots; /* index into the ring + 1; 0: free */
	size_t mask;     /* of the slots */
	size_t max;
	size_t n;
	size_t oldest; /* index into the ring, once it is full: also the next to be replaced */
	uint64_t n_forgotten;
};

int id_set_new(struct id_set **ret, size_t max)
{
	CLEANUP(id_set_freep) struct id_set *s = NULL;
	size_t n_slots = 2;

	if (max == 0 || max > (size_t)1 << 30)
		return -EINVAL;
	while (n_slots < 2 * max)
		n_slots *= 2;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->max = max;
	s->mask = n_slots - 1;
	s->ring = calloc(max, sizeof(*s->ring));
	s->slots = calloc(n_slots, sizeof(*s->slots));
	if (!s->ring || !s->slots)
		return -ENOMEM;
	*ret = TAKE_PTR(s);
	return 0;
}

void id_set_free(struct id_set *s)
{
	if (!s)
		return;
	free(s->ring);
	free(s->slots);
	free(s);
}

/* Senders may choose ids that collide in some bits, so the hash has a seed. */
static size_t home(const struct id_set *s, const struct upload_id *id)
{
	return XXH3_64bits_withSeed(id, sizeof(*id), table_seed) & s->mask;
}

static size_t find_slot(const struct id_set *s, const struct upload_id *id)
{
	size_t i = home(s, id);

	for (; s->slots[i] != 0; i = (i + 1) & s->mask) {
		const struct upload_id *other = &s->ring[s->slots[i] - 1];

		if (other->low == id->low && other->high == id->high)
			break;
	}
	return i;
}

bool id_set_has(const struct id_set *s, struct upload_id id)
{
	return s->slots[find_slot(s, &id)] != 0;
}

/* An entry behind the hole is moved into it unless its home is between the two. */
static void clear_slot(struct id_set *s, size_t hole)
{
	for (size_t i = (hole + 1) & s->mask; s->slots[i] != 0; i = (i + 1) & s->mask) {
		size_t from_home = (i - home(s, &s->ring[s->slots[i] - 1])) & s->mask;

		if (from_home < ((i - hole) & s->mask))
			continue;
		s->slots[hole] = s->slots[i];
		hole = i;
	}
	s->slots[hole] = 0;
}

bool id_set_add(struct id_set *s, struct upload_id id)
{
	size_t at = s->n;

	if (id_set_has(s, id))
		return false;
	if (s->n == s->max) {
		at = s->oldest;
		s->oldest = (s->oldest + 1) % s->max;
		clear_slot(s, find_slot(s, &s->ring[at]));
		s->n_forgotten++;
		s->n--;
	}
	s->ring[at] = id;
	s->slots[find_slot(s, &id)] = (uint32_t)at + 1;
	s->n++;
	return true;
}

size_t id_set_count(const struct id_set *s)
{
	return s->n;
}

uint64_t id_set_forgotten(const struct id_set *s)
{
	return s->n_forgotten;
}
