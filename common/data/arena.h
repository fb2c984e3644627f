/*
 * Memory for one cycle or one request: allocated piece by piece, freed all at once, never
 * singly. Has a hard limit. Not thread-safe.
 */
#ifndef COMMON_DATA_ARENA_H
#define COMMON_DATA_ARENA_H

#include "common/base.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* the first one has the free space */
	size_t used_bytes;          /* of all chunks, including their headers */
	size_t limit_bytes;
};

/* Cannot fail and does not allocate. */
void arena_init(struct arena *a, size_t limit_bytes);

/* Frees everything; a is then as after arena_init() with the same limit. */
void arena_fini(struct arena *a);

/* Like arena_fini(), but keeps one chunk of at most 1 MiB for the next use. */
void arena_clear(struct arena *a);

/* Aligned for any type, not zeroed. Returns NULL if out of memory or over the limit. */
void *arena_alloc(struct arena *a, size_t size) MUST_CHECK;
void *arena_calloc(struct arena *a, size_t n, size_t size) MUST_CHECK;

/* Why arena_alloc(a, size) has just returned NULL: -EFBIG for the limit, else -ENOMEM. */
int arena_error(const struct arena *a, size_t size);

/* Returns a NUL-terminated copy, or NULL as above. */
char *arena_strndup(struct arena *a, const char *s, size_t len) MUST_CHECK;

#endif /* COMMON_DATA_ARENA_H */
