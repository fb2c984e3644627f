#include "node-agent/java/vm/perf_memory.h"

#include <errno.h>

enum fact {
	FACT_START,
	FACT_CAPACITY,
	FACT_INITIALIZED,
	FACTS,
};

static const struct vm_fact wanted[FACTS] = {
	[FACT_START] = {"PerfMemory", "_start", VM_FACT_STATIC},
	[FACT_CAPACITY] = {"PerfMemory", "_capacity", VM_FACT_STATIC},
	[FACT_INITIALIZED] = {"PerfMemory", "_initialized", VM_FACT_STATIC},
};

/* Returns -ENOENT if it is not initialized. */
static int find_region(const struct byte_source *memory, const struct vm_fact *facts,
		       uint64_t *ret_start, uint64_t *ret_bytes)
{
	uint32_t initialized = 0; /* of the type jint */
	int r;

	for (size_t i = 0; i < FACTS; i++) {
		if (!facts[i].found)
			return -ENOENT;
	}
	r = byte_source_read(memory, facts[FACT_INITIALIZED].value, &initialized,
			     sizeof(initialized));
	if (r == 0)
		r = byte_source_read(memory, facts[FACT_START].value, ret_start,
				     sizeof(*ret_start));
	if (r == 0)
		r = byte_source_read(memory, facts[FACT_CAPACITY].value, ret_bytes,
				     sizeof(*ret_bytes));
	if (r < 0)
		return r;
	return initialized == 1 && *ret_start != 0 ? 0 : -ENOENT;
}

int perf_memory_read(const struct byte_source *memory, const struct vm_variables *variables,
		     struct hsperfdata *ret)
{
	AUTO_FREE uint8_t *data = NULL;
	uint64_t start = 0, bytes = 0;
	struct vm_fact facts[FACTS];
	int r;

	memcpy(facts, wanted, sizeof(facts));
	r = vm_structs_find(memory, variables, facts, FACTS);
	if (r == 0)
		r = find_region(memory, facts, &start, &bytes);
	if (r < 0)
		return r;
	if (bytes > HSPERFDATA_MAX_BYTES)
		return -EFBIG;
	data = malloc((size_t)bytes + 1);
	if (!data)
		return -ENOMEM;
	r = byte_source_read(memory, start, data, (size_t)bytes);
	return r < 0 ? r : hsperfdata_parse(data, (size_t)bytes, ret);
}
