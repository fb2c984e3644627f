/*
 * (u32, u32) → u32, for the two lookups a flame tree makes per frame. Open
 * addressing with linear probing; grows by doubling, nothing is ever removed.
 * The bound on its size is the bound on the ids put into it. Pure.
 */
#ifndef CLUSTER_AGENT_QUERY_PAIR_TABLE_H
#define CLUSTER_AGENT_QUERY_PAIR_TABLE_H

#include "common/base.h"

#define PAIR_TABLE_ABSENT UINT32_MAX

struct pair_slot {
	uint32_t a;
	uint32_t b;
	uint32_t value; /* PAIR_TABLE_ABSENT: free slot */
};

struct pair_table {
	struct pair_slot *slots;
	uint32_t n_slots; /* 0 or a power of two */
	uint32_t n_used;
};

/* A zeroed table is empty. */
void pair_table_fini(struct pair_table *t);

/* PAIR_TABLE_ABSENT when it is not there. */
uint32_t pair_table_find(const struct pair_table *t, uint32_t a, uint32_t b);

/* (a, b) must not be there yet; value is below PAIR_TABLE_ABSENT. -ENOMEM. */
int pair_table_add(struct pair_table *t, uint32_t a, uint32_t b, uint32_t value) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_PAIR_TABLE_H */
