#include "node-agent/unwind/table_owners.h"

#include <errno.h>

#include "common/data/table.h"

#define TICK_NS (100 * NS_PER_MS) /* to pay off for */

uint32_t table_owner_of(const char *workload)
{
	return (uint32_t)(table_hash(workload, strlen(workload)) % TABLE_OWNERS);
}

static void pay(uint64_t *debt_ns, uint64_t paid_ns)
{
	*debt_ns -= *debt_ns < paid_ns ? *debt_ns : paid_ns;
}

void table_owners_tick(struct table_owners *o, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - o->tick_ns;

	if (o->tick_ns != 0 && passed_ns < TICK_NS)
		return;
	if (o->tick_ns != 0) {
		pay(&o->build_ns, passed_ns / TABLE_OWNERS_BUILD_PART);
		for (size_t i = 0; i < TABLE_OWNERS; i++)
			pay(&o->owners[i].build_ns, passed_ns / TABLE_OWNERS_BUILD_PART);
	}
	o->tick_ns = now_ns;
}

void table_owners_charge(struct table_owners *o, uint32_t owner, uint64_t build_ns)
{
	o->owners[owner].build_ns += build_ns;
	o->build_ns += build_ns;
}

bool table_owners_may_build(const struct table_owners *o, uint32_t owner)
{
	return o->build_ns < TABLE_OWNERS_BUILD_NS &&
	       o->owners[owner].build_ns < TABLE_OWNER_BUILD_NS;
}

bool table_owners_may_add(const struct table_owners *o, uint32_t owner, uint32_t max_tables)
{
	return o->owners[owner].n_tables < max_tables / 2;
}

int table_owners_find_debtor(const struct table_owners *o, uint32_t owner, uint64_t bytes,
			     uint64_t max_bytes)
{
	uint64_t n = 0, share;
	size_t largest = 0;

	for (size_t i = 0; i < TABLE_OWNERS; i++) {
		n += o->owners[i].bytes > 0 || i == owner;
		if (o->owners[i].bytes > o->owners[largest].bytes)
			largest = i;
	}
	share = max_bytes / n;
	if (largest == owner || o->owners[largest].bytes <= share ||
	    o->owners[owner].bytes + bytes > share)
		return -ENOENT;
	return (int)largest;
}
