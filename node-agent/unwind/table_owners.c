#include "node-agent/unwind/table_owners.h"

#include <errno.h>

#include "common/data/table.h"

uint32_t table_owner_of(const char *workload)
{
	return (uint32_t)(table_hash(workload, strlen(workload)) % TABLE_OWNERS);
}

void table_owners_tick(struct table_owners *o, uint64_t now_ns)
{
	if (o->halve_ns == 0)
		o->halve_ns = now_ns + TABLE_OWNERS_HALF_LIFE_NS;
	for (; now_ns >= o->halve_ns && o->build_ns > 0; o->halve_ns += TABLE_OWNERS_HALF_LIFE_NS) {
		o->build_ns = 0;
		for (size_t i = 0; i < TABLE_OWNERS; i++) {
			o->owners[i].build_ns /= 2;
			o->build_ns += o->owners[i].build_ns;
		}
	}
	if (now_ns >= o->halve_ns)
		o->halve_ns = now_ns + TABLE_OWNERS_HALF_LIFE_NS;
}

void table_owners_charge(struct table_owners *o, uint32_t owner, uint64_t build_ns)
{
	o->owners[owner].build_ns += build_ns;
	o->build_ns += build_ns;
}

bool table_owners_may_build(const struct table_owners *o, uint32_t owner)
{
	return o->build_ns < TABLE_OWNERS_BUILD_NS &&
	       o->owners[owner].build_ns < TABLE_OWNERS_BUILD_NS / 2;
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
