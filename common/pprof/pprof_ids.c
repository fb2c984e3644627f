#include "common/pprof/pprof_ids.h"

#include <errno.h>

struct pprof_id {
	uint64_t id;
	uint32_t index;
};

int pprof_ids_init(struct pprof_ids *ids, const char *what, uint64_t max)
{
	*ids = (struct pprof_ids){.what = what};
	ids->entries = calloc(max + 1, sizeof(*ids->entries));
	return ids->entries ? 0 : -ENOMEM;
}

void pprof_ids_fini(struct pprof_ids *ids)
{
	free(ids->entries);
	*ids = (struct pprof_ids){0};
}

void pprof_ids_add(struct pprof_ids *ids, uint64_t id)
{
	ids->entries[ids->n] = (struct pprof_id){id, ids->n};
	ids->n++;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = ((const struct pprof_id *)a)->id, y = ((const struct pprof_id *)b)->id;

	return x < y ? -1 : x > y;
}

static void sort(struct pprof_ids *ids)
{
	struct pprof_id *e = ids->entries;
	bool sorted = true;

	for (uint32_t i = 1; i < ids->n && sorted; i++)
		sorted = e[i - 1].id < e[i].id;
	ids->counted = sorted && ids->n > 0 && e[0].id == 1 && e[ids->n - 1].id == ids->n;
	if (!sorted)
		qsort(e, ids->n, sizeof(*e), compare);
}

void pprof_ids_sort_usable(struct pprof_ids *ids)
{
	struct pprof_id *e = ids->entries;
	uint32_t n = 0;

	sort(ids);
	if (ids->counted)
		return;
	for (uint32_t i = 0, next; i < ids->n; i = next) {
		next = i + 1;
		while (next < ids->n && e[next].id == e[i].id)
			next++;
		if (next == i + 1 && e[i].id != 0)
			e[n++] = e[i];
	}
	ids->n = n;
}

int pprof_ids_sort(struct pprof_ids *ids, struct err *err)
{
	const struct pprof_id *e = ids->entries;

	sort(ids);
	if (ids->n > 0 && e[0].id == 0)
		return err_set(err, -EBADMSG, "not a valid pprof: %s without id", ids->what);
	for (uint32_t i = 1; i < ids->n; i++) {
		if (e[i - 1].id == e[i].id)
			return err_set(err, -EBADMSG, "not a valid pprof: two %ss of id %llu",
				       ids->what, (unsigned long long)e[i].id);
	}
	return 0;
}

int pprof_ids_search(const struct pprof_ids *ids, uint64_t id, uint32_t *ret_index, struct err *err)
{
	const struct pprof_id key = {.id = id}, *e = ids->entries;

	e = bsearch(&key, e, ids->n, sizeof(*e), compare);
	if (!e)
		return err_set(err, -EBADMSG, "not a valid pprof: no %s of id %llu", ids->what,
			       (unsigned long long)id);
	*ret_index = e->index;
	return 0;
}
