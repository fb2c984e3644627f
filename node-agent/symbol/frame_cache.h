/*
 * Locations, each kept once, and which address has which.
 *
 * The two parts have different bounds. Locations and their strings stay until a profile or a
 * cycle ends, because stacks that are being put together point to them; equal strings are the
 * same pointer, and so are equal locations. The addresses are a cache of fixed size that evicts at
 * any time.
 *
 */
#ifndef NODE_AGENT_SYMBOL_FRAME_CACHE_H
#define NODE_AGENT_SYMBOL_FRAME_CACHE_H

#include "common/base.h"

struct symbol_frame {
	const char *function; /* borrowed, as file */
	const char *file;
	uint32_t line;       /* 0: unknown */
	uint32_t start_line; /* of the function; 0: unknown */
};

/* What an address stands for: a function, and in front of it those that are inlined there. */
struct symbol_location {
	uint32_t n;
	struct symbol_frame frames[]; /* innermost first; at least one */
};

#define SYMBOL_LOCATION_FRAMES_MAX 64u

/* The function that has the address and is not inlined: the only one that unwinding knows. */
static inline const struct symbol_frame *symbol_location_outermost(const struct symbol_location *l)
{
	return &l->frames[l->n - 1];
}

/* Whether both are in one function. Their strings are of one cache: equal ones are the same. */
static inline bool symbol_location_is_of_function(const struct symbol_location *a,
						  const struct symbol_location *b)
{
	const struct symbol_frame *x = symbol_location_outermost(a);
	const struct symbol_frame *y = symbol_location_outermost(b);

	return x->function == y->function && x->file == y->file;
}

struct frame_cache;

/*
 * limit_bytes is for locations and their strings; half as much again is spare. What finds them
 * takes 19 to 38 bytes more for each. n_addresses is rounded down to a power of two, at least
 * 64. -ENOMEM is the only failure.
 */
int frame_cache_new(struct frame_cache **ret, size_t limit_bytes, size_t n_addresses) MUST_CHECK;
void frame_cache_free(struct frame_cache *c);
DEFINE_CLEANUP(struct frame_cache *, frame_cache_free);

/*
 * Stores our copy of a text, valid until the cache is emptied by one of the calls below. Returns 0,
 * -EFBIG if the limit is reached, or -ENOMEM.
 */
int frame_cache_text(struct frame_cache *c, const char *text, const char **ret) MUST_CHECK;

/*
 * Stores the location with these frames, innermost first, 1 to SYMBOL_LOCATION_FRAMES_MAX of them;
 * their texts are copied. Valid as above; the same results.
 */
int frame_cache_intern(struct frame_cache *c, const struct symbol_frame *frames, size_t n,
		       const struct symbol_location **ret) MUST_CHECK;
/* The same for a frame that must fit when the limit is reached: may use the spare memory. */
int frame_cache_intern_spare(struct frame_cache *c, const struct symbol_frame *frame,
			     const struct symbol_location **ret) MUST_CHECK;

/* Whether so much of the limit is used that only names of functions should be added. */
bool frame_cache_is_filling(const struct frame_cache *c);

/* The location that frame_cache_put() gave this address of an object. NULL: unknown, or evicted. */
const struct symbol_location *frame_cache_get(struct frame_cache *c, uint32_t object,
					      uint64_t address);
void frame_cache_put(struct frame_cache *c, uint32_t object, uint64_t address,
		     const struct symbol_location *location);

/*
 * Nobody points to a location any more: the cache is emptied if, of the limit, more than three
 * quarters are used, and at the end of a cycle more than half.
 */
void frame_cache_end_profile(struct frame_cache *c);
void frame_cache_end_cycle(struct frame_cache *c);
size_t frame_cache_bytes(const struct frame_cache *c);

#endif /* NODE_AGENT_SYMBOL_FRAME_CACHE_H */
