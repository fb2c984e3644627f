/*
 * The constant pools of a chunk: where they are, and how to walk through one. Pure.
 *
 * Pools are in checkpoint events, which are chained from the last one, named in the chunk's header,
 * to the first. A value does not say how long it is, so a pool has to be read from its beginning.
 */
#ifndef COMMON_JFR_JFR_CONSTANTS_H
#define COMMON_JFR_JFR_CONSTANTS_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/jfr/jfr_chunk.h"
#include "common/jfr/jfr_metadata.h"

enum jfr_pool {
	JFR_POOL_STACK,
	JFR_POOL_METHOD,
	JFR_POOL_CLASS,
	JFR_POOL_SYMBOL,
	JFR_POOL_STRING,
	JFR_POOL_FRAME_TYPE,
	JFR_POOL_THREAD_STATE,
	JFR_POOL_MAX,
};

/* Of one chunk. */
#define JFR_POOLS_MAX 32768u

struct jfr_pool_place {
	uint64_t at;
	uint64_t limit;
	uint32_t n_values;
	enum jfr_pool pool;
};

struct jfr_constants {
	struct jfr_reader *reader;                  /* borrowed */
	const struct jfr_metadata *metadata;        /* borrowed */
	const struct jfr_type *types[JFR_POOL_MAX]; /* NULL: the chunk has none */
	struct jfr_pool_place *places;
	uint32_t n_places, n_max;
};

/*
 * Finds the pools of a chunk; r and m are borrowed.
 * Returns 0, -ENOMEM, -EBADMSG or an error of the source; pools found before that can be read.
 */
int jfr_constants_find(struct jfr_constants *ret, struct jfr_reader *r,
		       const struct jfr_metadata *m, struct arena *a,
		       const struct jfr_chunk *chunk) MUST_CHECK;

/*
 * Calls read for each value of all pools of that kind: it reads the value and returns true, or
 * reads nothing and returns false. Returns 0, or as above.
 */
int jfr_constants_each(const struct jfr_constants *c, enum jfr_pool pool,
		       bool (*read)(void *ctx, uint64_t key), void *ctx) MUST_CHECK;

#endif /* COMMON_JFR_JFR_CONSTANTS_H */
