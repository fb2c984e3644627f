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
#include "common/system/clock.h"

#define TABLE_OWNERS 1024u

/*
 * A leaky bucket of the builder's CPU time, per owner and for all: building a table adds to it, and
 * a fraction of the elapsed time drains it. Buckets are large, so that after a start without a
 * cache only a flood of different files has to wait. The bucket of one owner is smaller than that
 * of all, so that one owner cannot use up the time of the others.
 */
#define TABLE_OWNERS_BUILD_PART 10u /* a tenth of one CPU */
#define TABLE_OWNERS_BUILD_NS (40 * NS_PER_S)
#define TABLE_OWNER_BUILD_NS (30 * NS_PER_S)

struct table_owner {
	uint64_t build_ns; /* fill level of its bucket */
	uint64_t bytes;    /* of its tables that are built */
	uint32_t n_tables; /* that have an index */
};

struct table_owners {
	struct table_owner owners[TABLE_OWNERS];
	uint64_t build_ns; /* fill level of the common bucket */
	uint64_t tick_ns;  /* time of the last drain; 0: none yet */
};

/* The index of an owner. */
uint32_t table_owner_of(const char *workload);

/* Drains all buckets. Times are of the same clock. */
void table_owners_tick(struct table_owners *o, uint64_t now_ns);
void table_owners_charge(struct table_owners *o, uint32_t owner, uint64_t build_ns);
/* Whether a table may be built for this owner now. Of several, who owes least is first. */
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
