/*
 * Any bytes as the variables of Go's allocator and garbage collector: only counters of the
 * release are set, within their limits. The first byte selects the release, the second how
 * much the two readings of memstats differ.
 */
#include <assert.h>

#include "node-agent/go/gc/gc_counters.h"

#define HEADER_BYTES 2u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memstats[GC_MEMSTATS_MAX_BYTES], again[GC_MEMSTATS_MAX_BYTES];
static uint8_t pacer[GC_PACER_MAX_BYTES];

static size_t take(uint8_t *to, size_t len, const uint8_t *data, size_t size)
{
	memset(to, 0, len);
	memcpy(to, data, size < len ? size : len);
	return size < len ? size : len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gc_counters c = {0};
	struct gc_layout l;
	size_t used;
	int r;

	if (size < HEADER_BYTES ||
	    gc_layout_get(GC_MINOR_MIN + data[0] % (GC_MINOR_MAX - GC_MINOR_MIN + 1), &l) < 0)
		return 0;
	used = HEADER_BYTES;
	used += take(memstats, l.memstats.n_bytes, data + used, size - used);
	(void)take(pacer, l.pacer.n_bytes, data + used, size - used);
	memcpy(again, memstats, sizeof(again));
	again[data[1] * 37u % l.memstats.n_bytes] ^= data[1];
	r = gc_counters_add_memstats(&c, &l, memstats, again);
	if (r == 0)
		assert(gc_counters_have(&c, GC_CYCLES) && gc_counters_have(&c, GC_PAUSE_NS));
	r = gc_counters_add_pacer(&c, &l, pacer);
	assert((c.known & ~gc_counters_of(&l)) == 0);
	for (unsigned i = 0; i < GC_COUNTERS; i++) {
		assert(c.v[i] == 0 || c.known >> i & 1);
		assert(c.v[i] < UINT64_C(1) << (i < GC_LIVE_BYTES ? 62 : 48));
	}
	if (r == 0)
		assert(gc_counters_have(&c, GC_HEAP_BYTES));
	return 0;
}
