/*
 * Allocator for the memory that the BPF stack walk reads: rows, rules, page directories and the
 * mappings of processes.
 *
 * Slabs of 1 MiB are created on demand, up to a budget, and are not released before
 * unwind_slabs_free(). A slab consists of 64 blocks, and an extent (an allocation) lies within one
 * block, so that the walk needs one pointer per extent. A freed extent is reused only after a grace
 * period that is longer than any walk that may still read it.
 *
 * A slab is the memory of a BPF map. Mapped slabs count towards the resident memory of the agent,
 * so a slab is mapped only while it is written or read.
 *
 * Not thread-safe.
 */
#ifndef NODE_AGENT_UNWIND_UNWIND_SLABS_H
#define NODE_AGENT_UNWIND_UNWIND_SLABS_H

#include <linux/types.h>

#include "common/base.h"

#include "bpf/unwind_table.h"

struct unwind_slabs;

#define UNWIND_SLAB_BYTES (UNWIND_SLAB_BLOCKS * UNWIND_BLOCK_BYTES)
#define UNWIND_UNIT_BYTES 64u /* start and size of an extent are multiples of this */

/* A part of a block. All zeroes means no extent, because block 0 is never allocated. */
struct unwind_extent {
	uint16_t block;   /* index over all slabs */
	uint16_t unit;    /* index of the first unit within the block */
	uint16_t n_units; /* 1 … UNWIND_BLOCK_BYTES / UNWIND_UNIT_BYTES */
};

struct unwind_slabs_config {
	uint64_t max_bytes; /* budget; rounded down to whole slabs, but at least one */
	uint64_t grace_ns;  /* longer than any walk */
	/*
	 * Creates slab number `slab` and maps it: *ret is UNWIND_SLAB_BYTES of zeroed memory.
	 * Called once per number, in ascending order from 0; after a failure it is called again
	 * with the same number. Returns 0 or -errno.
	 */
	int (*make_slab)(void *ctx, unsigned slab, void **ret);
	/* Destroys a slab; called by unwind_slabs_free(). memory is NULL if it is not mapped. */
	void (*free_slab)(void *ctx, unsigned slab, void *memory);
	/*
	 * map_slab() maps an existing slab again and returns 0 or -errno. unmap_slab() removes a
	 * mapping made by map_slab() or make_slab(). If both are NULL, slabs stay mapped.
	 */
	int (*map_slab)(void *ctx, unsigned slab, void **ret);
	void (*unmap_slab)(void *ctx, void *memory);
	void *ctx;
};

struct unwind_slabs_stats {
	uint64_t n_slabs;
	uint64_t n_mapped;      /* slabs that are mapped */
	uint64_t max_bytes;     /* the budget, in whole slabs */
	uint64_t used_bytes;    /* in allocated extents */
	uint64_t waiting_bytes; /* in freed extents whose grace period has not ended */
};

/* Returns 0 or -ENOMEM. Slabs are created later, on demand. */
int unwind_slabs_new(struct unwind_slabs **ret, const struct unwind_slabs_config *cfg) MUST_CHECK;
void unwind_slabs_free(struct unwind_slabs *s);
DEFINE_CLEANUP(struct unwind_slabs *, unwind_slabs_free);

/*
 * Allocates an extent of at least `bytes` bytes (1 … UNWIND_BLOCK_BYTES) with undefined content and
 * maps its slab. Returns 0, -ENOSPC if the budget is exhausted, or the error of make_slab() or
 * map_slab().
 */
int unwind_slabs_get(struct unwind_slabs *s, size_t bytes, struct unwind_extent *ret) MUST_CHECK;

/*
 * Like unwind_slabs_get(), and copies `bytes` bytes from `from`, or fills with zeroes if that is
 * NULL. On an error nothing is allocated.
 */
int unwind_slabs_write(struct unwind_slabs *s, const void *from, size_t bytes,
		       struct unwind_extent *ret) MUST_CHECK;

/*
 * Frees an extent that walks can no longer reach, after the grace period. An extent of zeroes is
 * allowed.
 */
void unwind_slabs_put(struct unwind_slabs *s, const struct unwind_extent *e, uint64_t now_ns);
/* Frees an extent that was never reachable for walks, without a grace period. */
void unwind_slabs_put_unseen(struct unwind_slabs *s, const struct unwind_extent *e);

/*
 * Makes extents reusable whose grace period has ended. To be called periodically; now_ns is of the
 * same clock as in unwind_slabs_put().
 */
void unwind_slabs_tick(struct unwind_slabs *s, uint64_t now_ns);

/*
 * Returns the bytes of an extent, valid until unwind_slabs_unmap_idle() or unwind_slabs_free(), or
 * NULL if the slab cannot be mapped.
 */
void *unwind_slabs_at(struct unwind_slabs *s, const struct unwind_extent *e);

/* Unmaps the slabs that were not accessed since the previous call. */
void unwind_slabs_unmap_idle(struct unwind_slabs *s);

void unwind_slabs_read_stats(const struct unwind_slabs *s, struct unwind_slabs_stats *ret);

#endif /* NODE_AGENT_UNWIND_UNWIND_SLABS_H */
