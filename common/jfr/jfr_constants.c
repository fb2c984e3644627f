/*
 * Each checkpoint must end before the one that was read before it begins: so a chain cannot be a
 * circle, and all of its checkpoints together are no longer than the chunk.
 */
#include "common/jfr/jfr_constants.h"

#include <errno.h>

#define CHECKPOINT_TYPE 1u
/* size, type, start, duration, delta, mask, number of pools */
#define CHECKPOINT_MIN_BYTES 7u

static const char *const type_names[JFR_POOL_MAX] = {
	[JFR_POOL_STACK] = "jdk.types.StackTrace",
	[JFR_POOL_METHOD] = "jdk.types.Method",
	[JFR_POOL_CLASS] = "java.lang.Class",
	[JFR_POOL_SYMBOL] = "jdk.types.Symbol",
	[JFR_POOL_STRING] = "java.lang.String",
	[JFR_POOL_FRAME_TYPE] = "jdk.types.FrameType",
	[JFR_POOL_THREAD_STATE] = "jdk.types.ThreadState",
};

static enum jfr_pool pool_of(const struct jfr_constants *c, const struct jfr_type *type)
{
	size_t i;

	for (i = 0; i < JFR_POOL_MAX; i++) {
		if (c->types[i] == type)
			break;
	}
	return (enum jfr_pool)i;
}

static int read_pools(struct jfr_constants *c, uint64_t limit)
{
	struct jfr_reader *r = c->reader;
	uint32_t n_pools = jfr_reader_count(r);

	for (uint32_t i = 0; i < n_pools && r->error == 0; i++) {
		const struct jfr_type *type = jfr_metadata_find(c->metadata, jfr_reader_long(r));
		uint32_t n = jfr_reader_count(r);
		enum jfr_pool pool;

		if (!type || r->error != 0)
			return r->error != 0 ? r->error : -EBADMSG;
		pool = pool_of(c, type);
		if (pool != JFR_POOL_MAX) {
			if (c->n_places == c->n_max)
				return -EBADMSG;
			c->places[c->n_places++] = (struct jfr_pool_place){
				.at = jfr_reader_tell(r),
				.limit = limit,
				.n_values = n,
				.pool = pool,
			};
		}
		/* nothing behind the last pool is needed */
		for (uint32_t k = 0; k < n && i + 1 < n_pools && r->error == 0; k++) {
			(void)jfr_reader_long(r);
			jfr_metadata_skip(c->metadata, r, type);
		}
	}
	return r->error;
}

/* Stores where the checkpoint before it is, or 0. */
static int read_checkpoint(struct jfr_constants *c, uint64_t start, uint64_t at, uint64_t end,
			   uint64_t *ret_before)
{
	struct jfr_reader *r = c->reader;
	uint32_t size;
	uint64_t delta;

	jfr_reader_seek(r, at, end);
	size = jfr_reader_count(r);
	if (r->error != 0)
		return r->error;
	if (size < CHECKPOINT_MIN_BYTES || size > end - at)
		return -EBADMSG;
	jfr_reader_seek(r, jfr_reader_tell(r), at + size);
	if (jfr_reader_long(r) != CHECKPOINT_TYPE)
		return -EBADMSG;
	(void)jfr_reader_long(r);    /* start */
	(void)jfr_reader_long(r);    /* duration */
	delta = -jfr_reader_long(r); /* how far before this one */
	(void)jfr_reader_raw(r, 1);  /* what kind of checkpoint */
	if (r->error != 0)
		return r->error;
	if (delta > at - start)
		return -EBADMSG;
	*ret_before = delta != 0 ? at - delta : 0;
	return read_pools(c, at + size);
}

int jfr_constants_find(struct jfr_constants *ret, struct jfr_reader *r,
		       const struct jfr_metadata *m, struct arena *a, const struct jfr_chunk *chunk)
{
	uint64_t at = chunk->constants, end = chunk->end;
	uint64_t n_max = (end - at) / 2 + (at - chunk->start) / CHECKPOINT_MIN_BYTES;
	int e = 0;

	*ret = (struct jfr_constants){.reader = r, .metadata = m};
	for (size_t i = 0; i < JFR_POOL_MAX; i++)
		ret->types[i] = jfr_metadata_find_name(m, type_names[i]);
	ret->n_max = n_max < JFR_POOLS_MAX ? (uint32_t)n_max : JFR_POOLS_MAX;
	ret->places = arena_alloc(a, ret->n_max * sizeof(*ret->places) + 1);
	if (!ret->places)
		return arena_error(a, ret->n_max * sizeof(*ret->places) + 1);
	while (at != 0 && e == 0) {
		uint64_t before = 0;

		e = read_checkpoint(ret, chunk->start, at, end, &before);
		end = at;
		at = before;
	}
	return e;
}

static int read_values(const struct jfr_constants *c, const struct jfr_pool_place *place,
		       bool (*read)(void *ctx, uint64_t key), void *ctx)
{
	struct jfr_reader *r = c->reader;

	jfr_reader_seek(r, place->at, place->limit);
	for (uint32_t k = 0; k < place->n_values && r->error == 0; k++) {
		uint64_t key = jfr_reader_long(r);

		if (!read(ctx, key))
			jfr_metadata_skip(c->metadata, r, c->types[place->pool]);
	}
	return r->error;
}

int jfr_constants_each(const struct jfr_constants *c, enum jfr_pool pool,
		       bool (*read)(void *ctx, uint64_t key), void *ctx)
{
	int r = 0;

	for (uint32_t i = 0; i < c->n_places && r == 0; i++) {
		if (c->places[i].pool == pool)
			r = read_values(c, &c->places[i], read, ctx);
	}
	return r;
}
