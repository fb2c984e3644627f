#include "node-agent/go/gc/gc_reader.h"

#include <errno.h>

#include "node-agent/go/gc/gc_variables.h"

#define ATTEMPTS 8 /* a change takes microseconds and happens a few times a second */

/* Reads the deltas a second time, for gc_counters_add_memstats() to compare. */
static int read_again(struct go_runtime *rt, const struct gc_layout *l, uint64_t address,
		      uint8_t *to)
{
	size_t offset = l->memstats.deltas;

	if (l->memstats.deltas == GC_NONE)
		return 0;
	return byte_source_read(rt->image.memory, address + offset, to + offset,
				gc_layout_deltas_bytes(l));
}

static int read_memstats(struct go_runtime *rt, const struct gc_layout *l, struct gc_counters *ret)
{
	uint8_t memory[GC_MEMSTATS_MAX_BYTES], again[GC_MEMSTATS_MAX_BYTES];
	uint64_t address = 0;
	int r = gc_variables_memstats(rt, &address);

	if (r < 0)
		return r;
	r = -EAGAIN;
	for (int i = 0; i < ATTEMPTS && r == -EAGAIN; i++) {
		r = byte_source_read(rt->image.memory, address, memory, l->memstats.n_bytes);
		if (r == 0)
			r = read_again(rt, l, address, again);
		if (r == 0)
			r = gc_counters_add_memstats(ret, l, memory, again);
	}
	return r;
}

static int read_pacer(struct go_runtime *rt, const struct gc_layout *l, struct gc_counters *ret)
{
	uint8_t memory[GC_PACER_MAX_BYTES];
	uint64_t address = 0;
	int r = gc_variables_pacer(rt, l, &address);

	if (r < 0)
		return r;
	r = -EAGAIN;
	for (int i = 0; i < ATTEMPTS && r == -EAGAIN; i++) {
		r = byte_source_read(rt->image.memory, address, memory, l->pacer.n_bytes);
		if (r == 0)
			r = gc_counters_add_pacer(ret, l, memory);
	}
	return r;
}

uint32_t gc_reader_of(const struct go_runtime *rt)
{
	struct gc_layout l;

	return gc_layout_get(rt->image.minor, &l) < 0 ? 0 : gc_counters_of(&l);
}

int gc_reader_read(struct go_runtime *rt, struct gc_counters *ret)
{
	struct gc_layout l;
	int r;

	*ret = (struct gc_counters){0};
	r = gc_layout_get(rt->image.minor, &l);
	if (r == 0)
		r = read_memstats(rt, &l, ret);
	if (r == 0)
		r = read_pacer(rt, &l, ret);
	if (r < 0)
		ret->known = 0;
	return r == -EAGAIN ? -EBADMSG : r;
}
