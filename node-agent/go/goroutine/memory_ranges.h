/*
 * Reads many pieces of another process's memory with few system calls.
 *
 * Ranges that lie close together are read at once, including the gap between them. Only gaps
 * of less than two pages are read, because reading memory that the process has never touched
 * would make the kernel map it. If a joined read fails, its ranges are read one by one. For
 * one thread.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_MEMORY_RANGES_H
#define NODE_AGENT_GO_GOROUTINE_MEMORY_RANGES_H

#include "common/base.h"
#include "common/elf/byte_source.h"

#define MEMORY_RANGE_MAX_BYTES 262144u

struct memory_range {
	uint64_t address;
	uint32_t len; /* at most MEMORY_RANGE_MAX_BYTES */
	uint32_t tag; /* for the caller's use */
};

struct memory_ranges {
	const struct byte_source *memory; /* borrowed */
	uint64_t left_bytes;              /* that may still be read */
	uint64_t deadline_ns;             /* on clock_effort_ns() */
	uint8_t *chunk;
};

/*
 * Called for each range; `bytes` is NULL if it cannot be read. Anything but 0 ends
 * memory_ranges_read() with that result.
 */
typedef int memory_range_fn(void *ctx, uint32_t tag, const uint8_t *bytes);

/* Returns 0 or -ENOMEM. */
int memory_ranges_init(struct memory_ranges *m, const struct byte_source *memory,
		       uint64_t max_bytes, uint64_t deadline_ns) MUST_CHECK;
void memory_ranges_fini(struct memory_ranges *m);

void memory_ranges_sort(struct memory_range *ranges, size_t n);

/*
 * Reads sorted ranges. Returns 0, -EFBIG if left_bytes do not suffice, -ETIME after the
 * deadline, or what fn returned.
 */
int memory_ranges_read(struct memory_ranges *m, const struct memory_range *ranges, size_t n,
		       memory_range_fn *fn, void *ctx) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_MEMORY_RANGES_H */
