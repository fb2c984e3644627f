#include "node-agent/go/goroutine/memory_ranges.h"

#include <errno.h>

#include "common/data/heap_sort.h"
#include "common/system/clock.h"

#define GAP_MAX_BYTES 6144u

int memory_ranges_init(struct memory_ranges *m, const struct byte_source *memory,
		       uint64_t max_bytes, uint64_t deadline_ns)
{
	*m = (struct memory_ranges){memory, max_bytes, deadline_ns, NULL};
	m->chunk = malloc(MEMORY_RANGE_MAX_BYTES);
	return m->chunk ? 0 : -ENOMEM;
}

void memory_ranges_fini(struct memory_ranges *m)
{
	free(m->chunk);
	m->chunk = NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct memory_range *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

void memory_ranges_sort(struct memory_range *ranges, size_t n)
{
	heap_sort(ranges, n, sizeof(*ranges), by_address);
}

/* Returns how many of the first ranges can be read at once, and where the last of them ends. */
static size_t join(const struct memory_range *ranges, size_t n, uint64_t *ret_end)
{
	uint64_t end = ranges[0].address + ranges[0].len;
	size_t i = 1;

	for (; i < n; i++) {
		uint64_t to = ranges[i].address + ranges[i].len;

		if (to < ranges[i].address || to - ranges[0].address > MEMORY_RANGE_MAX_BYTES ||
		    (ranges[i].address > end && ranges[i].address - end > GAP_MAX_BYTES))
			break;
		end = to > end ? to : end;
	}
	*ret_end = end;
	return i;
}

static int read_chunk(struct memory_ranges *m, uint64_t address, uint64_t len, bool *readable)
{
	if (len > m->left_bytes)
		return -EFBIG;
	m->left_bytes -= len;
	*readable = byte_source_read(m->memory, address, m->chunk, (size_t)len) == 0;
	return 0;
}

static int read_one(struct memory_ranges *m, const struct memory_range *range, memory_range_fn *fn,
		    void *ctx)
{
	bool readable = false;
	int r = read_chunk(m, range->address, range->len, &readable);

	return r == 0 ? fn(ctx, range->tag, readable ? m->chunk : NULL) : r;
}

/* If the joined read fails, each range is read alone. */
static int read_joined(struct memory_ranges *m, const struct memory_range *ranges, size_t n,
		       uint64_t end, memory_range_fn *fn, void *ctx)
{
	uint64_t start = ranges[0].address;
	bool readable = false;
	int r = read_chunk(m, start, end - start, &readable);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = readable ? fn(ctx, ranges[i].tag, m->chunk + (ranges[i].address - start))
			     : read_one(m, &ranges[i], fn, ctx);
	return r;
}

int memory_ranges_read(struct memory_ranges *m, const struct memory_range *ranges, size_t n,
		       memory_range_fn *fn, void *ctx)
{
	while (n > 0) {
		uint64_t end = 0;
		size_t joined = join(ranges, n, &end);
		int r;

		if (clock_effort_ns() > m->deadline_ns)
			return -ETIME;
		r = joined > 1 ? read_joined(m, ranges, joined, end, fn, ctx)
			       : read_one(m, ranges, fn, ctx);
		if (r < 0)
			return r;
		ranges += joined;
		n -= joined;
	}
	return 0;
}
