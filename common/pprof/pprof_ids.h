/*
 * The ids of a pprof's functions or locations, to the indexes we use instead.
 *
 * Ids come from the sender: any 64-bit number but 0, in any order, each once.
 * A sorted array, because it needs a quarter of a hash table's memory and no
 * choice of ids makes it slow. Pure.
 */
#ifndef COMMON_PPROF_PPROF_IDS_H
#define COMMON_PPROF_PPROF_IDS_H

#include "common/base.h"
#include "common/err.h"

struct pprof_id;

struct pprof_ids {
	struct pprof_id *entries; /* in order of id after pprof_ids_sort() */
	uint32_t n;
	const char *what; /* for sentences: "function"; borrowed */
};

/* For at most max ids. -ENOMEM. */
int pprof_ids_init(struct pprof_ids *ids, const char *what, uint64_t max) MUST_CHECK;
/* Also of one that is zeroed. */
void pprof_ids_fini(struct pprof_ids *ids);

/* The n-th call gives id the index n, counted from 0. */
void pprof_ids_add(struct pprof_ids *ids, uint64_t id);

/* After the last one was added. -EBADMSG: an id is 0 or given twice. */
int pprof_ids_sort(struct pprof_ids *ids, struct err *err) MUST_CHECK;

/* -EBADMSG when there is no such id. */
int pprof_ids_find(const struct pprof_ids *ids, uint64_t id, uint32_t *ret_index,
		   struct err *err) MUST_CHECK;

#endif /* COMMON_PPROF_PPROF_IDS_H */
