/*
 * Maps the ids of a pprof's functions, locations or mappings to the indexes that we use instead.
 * Pure.
 *
 * Ids come from the sender: any 64-bit numbers, in any order. Most senders count from 1; then an id
 * says its index itself.
 */
#ifndef COMMON_PPROF_PPROF_IDS_H
#define COMMON_PPROF_PPROF_IDS_H

#include "common/base.h"
#include "common/data/number_index.h"

struct pprof_ids {
	uint64_t *ids; /* by index */
	uint32_t n;
	bool is_count;             /* they are 1, 2, 3, … in this order */
	struct number_index by_id; /* of the others; of equal ones, two */
};

/* Reserves memory for max ids. Returns 0 or -ENOMEM. */
int pprof_ids_init(struct pprof_ids *ids, uint64_t max) MUST_CHECK;
/* *ids may also be zeroed. */
void pprof_ids_fini(struct pprof_ids *ids);

/* Gives id the next index, counted from 0. At most max calls. */
void pprof_ids_add(struct pprof_ids *ids, uint64_t id);

/*
 * Call after the last pprof_ids_add(). Returns 0; 1 if some id is 0 or occurs twice, which will not
 * be found; or -ENOMEM.
 */
int pprof_ids_end(struct pprof_ids *ids) MUST_CHECK;

/* The general case of pprof_ids_find(). */
bool pprof_ids_search(const struct pprof_ids *ids, uint64_t id, uint32_t *ret_index);

/* Returns false if there is no such id. */
static inline bool pprof_ids_find(const struct pprof_ids *ids, uint64_t id, uint32_t *ret_index)
{
	if (!ids->is_count)
		return pprof_ids_search(ids, id, ret_index);
	*ret_index = (uint32_t)(id - 1);
	return id - 1 < ids->n;
}

#endif /* COMMON_PPROF_PPROF_IDS_H */
