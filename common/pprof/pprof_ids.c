#include "common/pprof/pprof_ids.h"

#include <errno.h>

int pprof_ids_init(struct pprof_ids *ids, uint64_t max)
{
	*ids = (struct pprof_ids){.is_count = true};
	ids->ids = calloc(max + 1, sizeof(*ids->ids));
	return ids->ids ? 0 : -ENOMEM;
}

void pprof_ids_fini(struct pprof_ids *ids)
{
	free(ids->ids);
	number_index_fini(&ids->by_id);
	*ids = (struct pprof_ids){0};
}

void pprof_ids_add(struct pprof_ids *ids, uint64_t id)
{
	ids->ids[ids->n++] = id;
	ids->is_count &= id == ids->n;
}

/* How many of the index have this id: 0, 1 or 2. *ret_index is one of them. */
static unsigned count(const struct pprof_ids *ids, uint64_t id, uint32_t *ret_index)
{
	uint32_t hash = number_hash(id), at = hash, index;
	unsigned n = 0;

	while (n < 2 && number_index_next(&ids->by_id, hash, &at, &index)) {
		if (ids->ids[index] != id)
			continue;
		*ret_index = index;
		n++;
	}
	return n;
}

int pprof_ids_end(struct pprof_ids *ids)
{
	int result = 0;

	for (uint32_t i = 0; !ids->is_count && i < ids->n; i++) {
		uint64_t id = ids->ids[i];
		uint32_t other;
		unsigned n = count(ids, id, &other);
		int r = 0;

		if (n > 0 || id == 0)
			result = 1;
		if (n < 2 && id != 0)
			r = number_index_add(&ids->by_id, number_hash(id), i);
		if (r < 0)
			return r;
	}
	return result;
}

bool pprof_ids_search(const struct pprof_ids *ids, uint64_t id, uint32_t *ret_index)
{
	return count(ids, id, ret_index) == 1;
}
