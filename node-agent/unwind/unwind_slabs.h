/*
 * The memory in which all that the walk in BPF reads is laid out: rows, rules, page directories,
 * and mappings of processes.
 *
 * Slabs of 1 MiB are made one after the other as they are needed, up to a budget, and are never
 * given back. A slab has 64 blocks, and an extent lies within one block, so that the walk needs
 * one pointer for it. What is freed is handed out again only after a grace period, during which
 * every walk that may have seen it ends.
 *
 * Slabs belong to BPF maps. Those that are mapped count as resident memory of the process, so they
 * are mapped only while somebody writes or reads them.
 *
 * One thread uses it.
 */
#ifndef NODE_AGENT_UNWIND_UNWIND_SLABS_H
#define NODE_AGENT_UNWIND_UNWIND_SLABS_H

#include <linux/types.h>

#include "common/base.h"

#include "bpf/unwind_table.h"

struct unwind_slabs;

#define UNWIND_SLAB_BYTES (UNWIND_SLAB_BLOCKS * UNWIND_BLOCK_BYTES)
#define UNWIND_UNIT_BYTES 64u /* extents begin and end at multiples of it */

/* Part of a block. All zeroes: none, because block 0 is never handed out. */
struct unwind_extent {
	uint16_t block;   /* counted through all slabs */
	uint16_t unit;    /* in the block */
	uint16_t n_units; /* 1 … UNWIND_BLOCK_BYTES / UNWIND_UNIT_BYTES */
};

struct unwind_slabs_config {
	uint64_t max_bytes; /* budget; rounded down to whole slabs, but at least one */
	uint64_t grace_ns;  /* longer than any walk */
	/*
	 * Makes slab number `slab`: *ret is UNWIND_SLAB_BYTES of zeroed memory. Called once for
	 * each number, ascending from 0, and again after a failure. Returns 0 or -errno.
	 */
	int (*make_slab)(void *ctx, unsigned slab, void **ret);
	/* Undoes make_slab() for unwind_slabs_free(). memory is NULL if it is not mapped. */
	void (*free_slab)(void *ctx, unsigned slab, void *memory);
	/*
	 * Map a slab that was made, and undo that or what make_slab() has mapped. map_slab()
	 * returns 0 or -errno. Both NULL: slabs stay mapped.
	 */
	int (*map_slab)(void *ctx, unsigned slab, void **ret);
	void (*unmap_slab)(void *ctx, void *memory);
	void *ctx;
};

struct unwind_slabs_stats {
	uint64_t n_slabs;
	uint64_t n_mapped;      /* of these */
	uint64_t used_bytes;    /* in extents */
	uint64_t waiting_bytes; /* freed, in their grace period */
};

/* Returns 0 or -ENOMEM. No slab is made yet. */
int unwind_slabs_new(struct unwind_slabs **ret, const struct unwind_slabs_config *cfg) MUST_CHECK;
void unwind_slabs_free(struct unwind_slabs *s);
DEFINE_CLEANUP(struct unwind_slabs *, unwind_slabs_free);

/*
 * An extent of at least that many bytes, 1 … UNWIND_BLOCK_BYTES, with undefined content. Returns 0,
 * -ENOSPC if the budget is spent, or what make_slab() or map_slab() returned. Its slab is mapped.
 */
int unwind_slabs_get(struct unwind_slabs *s, size_t bytes, struct unwind_extent *ret) MUST_CHECK;

/* The same, with that content; from is NULL for zeroes. Not 0: nothing was taken. */
int unwind_slabs_write(struct unwind_slabs *s, const void *from, size_t bytes,
		       struct unwind_extent *ret) MUST_CHECK;

/* It is no longer referred to by what walks read. An extent of zeroes is allowed. */
void unwind_slabs_put(struct unwind_slabs *s, const struct unwind_extent *e, uint64_t now_ns);
/* The same for one that walks have never been able to see: it is free at once. */
void unwind_slabs_put_unseen(struct unwind_slabs *s, const struct unwind_extent *e);

/* Ends grace periods; call it every now and then. Times are of the same clock. */
void unwind_slabs_tick(struct unwind_slabs *s, uint64_t now_ns);

/*
 * The bytes of an extent; valid until unwind_slabs_unmap_idle() or unwind_slabs_free(). NULL if its
 * slab cannot be mapped.
 */
void *unwind_slabs_at(struct unwind_slabs *s, const struct unwind_extent *e);

/* Unmaps slabs that were not used since the previous call. */
void unwind_slabs_unmap_idle(struct unwind_slabs *s);

void unwind_slabs_read_stats(const struct unwind_slabs *s, struct unwind_slabs_stats *ret);

#endif /* NODE_AGENT_UNWIND_UNWIND_SLABS_H */
