/*
 * Frames of this cycle, each kept once, and which address has which.
 *
 * Two parts with different bounds. Frames and their strings live until a cycle ends, because
 * stacks that are being put together point to them; equal strings are the same pointer. The
 * addresses are a cache of fixed size that forgets the ones not used lately, at any time.
 */
#ifndef NODE_AGENT_SYMBOL_FRAME_CACHE_H
#define NODE_AGENT_SYMBOL_FRAME_CACHE_H

#include "common/base.h"

struct symbol_frame {
	const char *function; /* borrowed, as file */
	const char *file;
};

struct frame_cache;

/* n_addresses is rounded down to a power of two, at least 64. -ENOMEM is the only failure. */
int frame_cache_new(struct frame_cache **ret, size_t limit_bytes, size_t n_addresses) MUST_CHECK;
void frame_cache_free(struct frame_cache *c);
DEFINE_CLEANUP(struct frame_cache *, frame_cache_free);

/*
 * The frame of these texts. *ret is valid until frame_cache_end_cycle().
 * -ENOMEM: none left, or limit_bytes reached.
 */
int frame_cache_intern(struct frame_cache *c, const char *function, const char *file,
		       const struct symbol_frame **ret) MUST_CHECK;

/* The frame that frame_cache_put() gave this address of an object; NULL: not known (any more). */
const struct symbol_frame *frame_cache_get(struct frame_cache *c, uint32_t object,
					   uint64_t address);
void frame_cache_put(struct frame_cache *c, uint32_t object, uint64_t address,
		     const struct symbol_frame *frame);

/* Nobody points to a frame: forget everything if more than half of the limit is used. */
void frame_cache_end_cycle(struct frame_cache *c);
size_t frame_cache_bytes(const struct frame_cache *c);

#endif /* NODE_AGENT_SYMBOL_FRAME_CACHE_H */
