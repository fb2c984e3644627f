/*
 * The variables of Go's allocator and garbage collector as of a program of any release after
 * 300 collections (the ring has the last 256), with GOGC=100 and no memory limit. Offsets are
 * those of gc_layout_get().
 */
#ifndef TEST_LIB_GC_IMAGE_H
#define TEST_LIB_GC_IMAGE_H

#include <assert.h>

#include "node-agent/go/gc/gc_layout.h"

#define GC_IMAGE_CYCLES 300u
#define GC_IMAGE_PAUSE_NS 123456u
#define GC_IMAGE_LAST_NS UINT64_C(1790000000000000000)
#define GC_IMAGE_LIVE 3000000u
#define GC_IMAGE_HEAP 5000000u
#define GC_IMAGE_GOAL 6000000u
#define GC_IMAGE_WRITING 1u /* of the three sums */

struct gc_image {
	struct gc_layout l;
	uint8_t memstats[GC_MEMSTATS_MAX_BYTES];
	uint8_t pacer[GC_PACER_MAX_BYTES];
};

static inline void gc_image_put(uint8_t *memory, size_t offset, uint64_t v, size_t len)
{
	memcpy(memory + offset, &v, len);
}

/* The offset of one of the three sums. */
static inline size_t gc_image_delta(const struct gc_image *im, size_t i)
{
	return im->l.memstats.deltas + i * im->l.delta.n_bytes;
}

/* Adds n objects of a size class. Class 0 stands for large ones, of 40000 bytes each. */
static inline void gc_image_allocate(struct gc_image *im, size_t delta, size_t class, uint64_t n)
{
	size_t large = gc_image_delta(im, delta) + im->l.delta.large_bytes;

	if (class == 0)
		gc_image_put(im->memstats, large, n * 40000, 8);
	gc_image_put(im->memstats, large + 8 + class * 8 + (class > 0 ? 8 : 0), n, 8);
}

static inline void gc_image_put_allocations(struct gc_image *im)
{
	const struct gc_memstats_layout *m = &im->l.memstats;

	if (m->deltas == GC_NONE)
		return;
	gc_image_put(im->memstats, gc_image_delta(im, 3), GC_IMAGE_WRITING, 4);
	gc_image_allocate(im, GC_IMAGE_WRITING, 1, 7);
	gc_image_allocate(im, GC_IMAGE_WRITING - 1, 67, 5);
	gc_image_allocate(im, GC_IMAGE_WRITING - 1, 0, 3);
	if (im->l.delta.tiny != GC_NONE)
		gc_image_put(im->memstats, gc_image_delta(im, GC_IMAGE_WRITING) + im->l.delta.tiny,
			     100, 8);
	if (m->tinyallocs != GC_NONE)
		gc_image_put(im->memstats, m->tinyallocs, 100, 8);
	for (size_t i = 1; m->by_size != GC_NONE && i < GC_SIZE_CLASSES; i++)
		gc_image_put(im->memstats, m->by_size + i * 24, i == 67 ? 32768 : i * 8, 4);
}

static inline void gc_image_put_pacer(struct gc_image *im)
{
	const struct gc_pacer_layout *p = &im->l.pacer;

	gc_image_put(im->pacer, p->goal, GC_IMAGE_GOAL, 8);
	gc_image_put(im->pacer, p->live, GC_IMAGE_HEAP, 8);
	gc_image_put(im->pacer, p->marked, GC_IMAGE_LIVE, 8);
	if (p->minimum == GC_NONE)
		return;
	gc_image_put(im->pacer, 0, 100, 4);
	gc_image_put(im->pacer, p->minimum, 4194304, 8);
	if (p->limit == GC_NONE)
		return;
	gc_image_put(im->pacer, p->goal + 16u, UINT64_MAX, 8); /* triggered */
	gc_image_put(im->pacer, p->limit, INT64_MAX, 8);
	gc_image_put(im->pacer, p->in_use, 7000000, 8);
	gc_image_put(im->pacer, p->in_use + 16u, 1000000, 8); /* heapFree */
	gc_image_put(im->pacer, p->in_use + 24u, 283896, 8);  /* totalAlloc, as above */
	gc_image_put(im->pacer, p->in_use + 32u, 83896, 8);   /* totalFree */
	gc_image_put(im->pacer, p->in_use + 40u, 9000000, 8); /* mappedReady */
}

static inline void gc_image_make(struct gc_image *im, unsigned minor)
{
	const struct gc_memstats_layout *m = &im->l.memstats;
	size_t slot = (GC_IMAGE_CYCLES - 1) % 256;
	int r;

	memset(im, 0, sizeof(*im));
	r = gc_layout_get(minor, &im->l);
	assert(r == 0);
	(void)r;
	gc_image_put(im->memstats, m->numgc, GC_IMAGE_CYCLES, 4);
	gc_image_put(im->memstats, m->pause_total, GC_IMAGE_PAUSE_NS, 8);
	gc_image_put(im->memstats, m->last_gc_unix, GC_IMAGE_LAST_NS, 8);
	gc_image_put(im->memstats, m->pause_end + slot * 8, GC_IMAGE_LAST_NS, 8);
	gc_image_put(im->memstats, m->buckhash_sys, 2366, 8);
	gc_image_put(im->memstats, m->buckhash_sys - 8u, 15600, 8); /* mcache_sys */
	gc_image_put_allocations(im);
	gc_image_put_pacer(im);
}

#endif /* TEST_LIB_GC_IMAGE_H */
