/*
 * Who the tables are for, so that a container with thousands of programs does not take the room and
 * the builder's time that others need. Pure.
 *
 * An owner is a workload. Owners whose names have the same hash count as one, which makes their
 * share smaller.
 */
#ifndef NODE_AGENT_UNWIND_TABLE_OWNERS_H
#define NODE_AGENT_UNWIND_TABLE_OWNERS_H

#include "common/base.h"

#define TABLE_OWNERS 1024u

/* The builder's CPU time counts by half each time that this has passed. */
#define TABLE_OWNERS_HALF_LIFE_NS UINT64_C(60000000000)
/*
 * What may count at once: tables of a whole node after the start, and some 10 % of a CPU in the
 * long run. One owner has half of it.
 */
#define TABLE_OWNERS_BUILD_NS UINT64_C(8000000000)

struct table_owner {
	uint64_t build_ns; /* of CPU time, that count */
	uint64_t bytes;    /* of its tables that are built */
	uint32_t n_tables; /* that have an index */
};

struct table_owners {
	struct table_owner owners[TABLE_OWNERS];
	uint64_t build_ns; /* of all */
	uint64_t halve_ns; /* when to do so next; 0: at the first call of table_owners_tick() */
};

/* The index of an owner. */
uint32_t table_owner_of(const char *workload);

/* Lets CPU time fade. Times are of the same clock. */
void table_owners_tick(struct table_owners *o, uint64_t now_ns);
void table_owners_charge(struct table_owners *o, uint32_t owner, uint64_t build_ns);
/* Whether a table may be built for this owner now. */
bool table_owners_may_build(const struct table_owners *o, uint32_t owner);

/* Whether the owner may have another table; no one has more than half of max_tables. */
bool table_owners_may_add(const struct table_owners *o, uint32_t owner, uint32_t max_tables);

/*
 * Whose tables should make room for `bytes` more of this owner, which would still have no more than
 * its share of max_bytes then: the owner that has most, if that is above the share. Returns -ENOENT
 * if there is none.
 */
int table_owners_find_debtor(const struct table_owners *o, uint32_t owner, uint64_t bytes,
			     uint64_t max_bytes);

#endif /* NODE_AGENT_UNWIND_TABLE_OWNERS_H */
