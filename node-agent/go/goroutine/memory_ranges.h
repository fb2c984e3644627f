/*
 * Many pieces of another process's memory, in order of their addresses, by few reads.
 *
 * What lies close together is read at once; what lies between is read too, but only where that is
 * less than a page or two, so that memory which the process has never touched stays
 * untouched. A piece that cannot be read does not cost its neighbours. One thread.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_MEMORY_RANGES_H
#define NODE_AGENT_GO_GOROUTINE_MEMORY_RANGES_H

#include "common/base.h"
#include "node-agent/elf/byte_source.h"

#define MEMORY_RANGE_MAX_BYTES 262144u

struct memory_range {
	uint64_t address;
	uint32_t len; /* at most MEMORY_RANGE_MAX_BYTES */
	uint32_t tag; /* the caller's */
};

struct memory_ranges {
	const struct byte_source *memory; /* borrowed */
	uint64_t left_bytes;              /* that may be read */
	uint64_t deadline_ns;             /* on clock_monotonic_ns() */
	uint8_t *chunk;
};

/* One piece; bytes is NULL when it cannot be read. 0; others end the reading with that result. */
typedef int memory_range_fn(void *ctx, uint32_t tag, const uint8_t *bytes);

/* -ENOMEM. */
int memory_ranges_init(struct memory_ranges *m, const struct byte_source *memory,
		       uint64_t max_bytes, uint64_t deadline_ns) MUST_CHECK;
void memory_ranges_fini(struct memory_ranges *m);

void memory_ranges_sort(struct memory_range *ranges, size_t n);

/* Sorted ranges. 0; -EFBIG: left_bytes do not suffice; -ETIME: the deadline; what fn returned. */
int memory_ranges_read(struct memory_ranges *m, const struct memory_range *ranges, size_t n,
		       memory_range_fn *fn, void *ctx) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_MEMORY_RANGES_H */
