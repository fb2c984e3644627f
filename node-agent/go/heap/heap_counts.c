/*
 * A record of the memory profiler has four cycles of counters: "active", and a ring of three
 * "future" ones. The runtime counts an event in a future cycle and moves a whole cycle into
 * active once the garbage collection that makes its frees comparable with its allocs is
 * complete (memRecord and mProf_FlushLocked in runtime/mprof.go). We read without stopping
 * the program, so such a move may be half done. There is no lock or version to check; instead
 * the numbers must be consistent: bytes are count times size, and nothing is freed that was
 * not allocated.
 */
#include "node-agent/go/heap/heap_counts.h"

#include <errno.h>

#define MINOR_WITHOUT_BYTES 27u
#define CYCLES 4u /* active, and three future ones */
#define CYCLE_WORDS 2u
#define CYCLE_WORDS_WITH_BYTES 4u

uint32_t heap_counts_words(unsigned minor)
{
	return CYCLES * (minor < MINOR_WITHOUT_BYTES ? CYCLE_WORDS_WITH_BYTES : CYCLE_WORDS);
}

int heap_counts_decode(const struct go_bucket *b, uint32_t n_words, struct heap_counts *ret)
{
	size_t per_cycle = n_words / CYCLES;

	*ret = (struct heap_counts){0};
	for (size_t i = 0; i < CYCLES; i++) {
		const uint64_t *c = b->words + i * per_cycle;

		if (per_cycle == CYCLE_WORDS_WITH_BYTES &&
		    (c[2] != c[0] * b->size || c[3] != c[1] * b->size))
			return -EAGAIN;
		if (i == 0) {
			ret->active = (struct heap_pair){c[0], c[1]};
		} else {
			ret->future.allocs += c[0];
			ret->future.frees += c[1];
		}
	}
	return ret->active.frees <= ret->active.allocs &&
			       ret->active.frees + ret->future.frees <=
				       ret->active.allocs + ret->future.allocs
		       ? 0
		       : -EAGAIN;
}
