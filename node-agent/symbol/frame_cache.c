/*
 * Two structures for two questions. Texts and locations are interned: they lie in an arena, where
 * nothing moves or goes while a profile points to it and all of it goes at once.
 *
 * Which location an address has is only a cache, so it has a fixed size and evicts: sets of four
 * addresses, as processors have them. It makes no difference to a profile what it has
 * forgotten.
 *
 * When the arena is nearly full, the symbolizer leaves out lines, of which a function has many.
 * When it is full, names are refused and the symbolizer falls back to shorter frames, one for each
 * function at most. These still need a place, hence the spare arena.
 */
#include "node-agent/symbol/frame_cache.h"

#include <errno.h>

#include "common/data/arena.h"
#include "common/data/array.h"
#include "common/data/number_index.h"

#define WAYS 4u
#define ADDRESSES_MIN 64u

struct set {
	const void **items; /* texts or locations */
	uint32_t n, cap;
	struct number_index by_hash; /* of items */
};

struct slot {
	uint64_t address;
	const struct symbol_location *location; /* NULL: free */
	uint32_t object;
};

struct frame_cache {
	struct arena arena; /* texts and locations */
	struct arena spare; /* the same, of locations that must fit when arena is full */
	struct set texts;
	struct set locations;
	struct slot *slots; /* sets of WAYS, the last used first */
	size_t n_slots;
};

int frame_cache_new(struct frame_cache **ret, size_t limit_bytes, size_t n_addresses)
{
	CLEANUP(frame_cache_freep) struct frame_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	arena_init(&c->arena, limit_bytes);
	arena_init(&c->spare, limit_bytes / 2);
	c->n_slots = ADDRESSES_MIN;
	while (c->n_slots <= n_addresses / 2)
		c->n_slots *= 2;
	c->slots = calloc(c->n_slots, sizeof(*c->slots));
	if (!c->slots)
		return -ENOMEM;
	*ret = TAKE_PTR(c);
	return 0;
}

/* ---- texts and locations ---- */

static void set_clear(struct set *s)
{
	free(s->items);
	number_index_fini(&s->by_hash);
	*s = (struct set){0};
}

static void forget(struct frame_cache *c)
{
	set_clear(&c->texts);
	set_clear(&c->locations);
	arena_fini(&c->arena);
	arena_fini(&c->spare);
	memset(c->slots, 0, c->n_slots * sizeof(*c->slots));
}

void frame_cache_free(struct frame_cache *c)
{
	if (!c)
		return;
	if (c->slots)
		forget(c);
	free(c->slots);
	free(c);
}

/* Adds an item of that size, which the caller fills in; may use the spare memory. */
static int set_add(struct frame_cache *c, struct set *s, uint32_t hash, size_t size, bool spare,
		   void **ret)
{
	int r = ARRAY_RESERVE(s->items, s->cap, s->n + 1);

	if (r < 0)
		return r;
	*ret = arena_alloc(&c->arena, size);
	if (!*ret && spare)
		*ret = arena_alloc(&c->spare, size);
	if (!*ret)
		return arena_error(spare ? &c->spare : &c->arena, size);
	r = number_index_add(&s->by_hash, hash, s->n);
	if (r < 0)
		return r;
	s->items[s->n++] = *ret;
	return 0;
}

static int intern_text(struct frame_cache *c, const char *s, bool spare, const char **ret)
{
	size_t len = strlen(s);
	uint32_t hash = table_hash(s, len), at = hash, number;
	void *text;
	int r;

	while (number_index_next(&c->texts.by_hash, hash, &at, &number)) {
		const char *known = c->texts.items[number];

		if (strcmp(known, s) == 0) {
			*ret = known;
			return 0;
		}
	}
	r = set_add(c, &c->texts, hash, len + 1, spare, &text);
	if (r < 0)
		return r;
	*ret = memcpy(text, s, len + 1);
	return 0;
}

int frame_cache_text(struct frame_cache *c, const char *text, const char **ret)
{
	return intern_text(c, text, false, ret);
}

/* The texts of frames are ours: equal ones are the same pointer. */
static int intern_location(struct frame_cache *c, const struct symbol_frame *frames, size_t n,
			   bool spare, const struct symbol_location **ret)
{
	size_t len = n * sizeof(*frames);
	uint32_t hash = table_hash(frames, len), at = hash, number;
	struct symbol_location *l;
	void *item;
	int r;

	while (number_index_next(&c->locations.by_hash, hash, &at, &number)) {
		const struct symbol_location *known = c->locations.items[number];

		if (known->n == n && memcmp(known->frames, frames, len) == 0) {
			*ret = known;
			return 0;
		}
	}
	r = set_add(c, &c->locations, hash, sizeof(*l) + len, spare, &item);
	if (r < 0)
		return r;
	l = item;
	l->n = (uint32_t)n;
	memcpy(l->frames, frames, len);
	*ret = l;
	return 0;
}

static int intern(struct frame_cache *c, const struct symbol_frame *frames, size_t n, bool spare,
		  const struct symbol_location **ret)
{
	UNINITIALIZED struct symbol_frame ours[SYMBOL_LOCATION_FRAMES_MAX];
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		ours[i] = frames[i];
		r = intern_text(c, frames[i].function, spare, &ours[i].function);
		if (r == 0)
			r = intern_text(c, frames[i].file, spare, &ours[i].file);
	}
	return r == 0 ? intern_location(c, ours, n, spare, ret) : r;
}

int frame_cache_intern(struct frame_cache *c, const struct symbol_frame *frames, size_t n,
		       const struct symbol_location **ret)
{
	return intern(c, frames, n, false, ret);
}

int frame_cache_intern_spare(struct frame_cache *c, const struct symbol_frame *frame,
			     const struct symbol_location **ret)
{
	return intern(c, frame, 1, true, ret);
}

bool frame_cache_is_filling(const struct frame_cache *c)
{
	return c->arena.used_bytes > c->arena.limit_bytes / 8 * 7;
}

static struct slot *set_of(struct frame_cache *c, uint32_t object, uint64_t address)
{
	uint64_t h = (address + object) * UINT64_C(0x9e3779b97f4a7c15) + object;

	return &c->slots[(h >> 32) % (c->n_slots / WAYS) * WAYS];
}

static void put_first(struct slot *set, size_t way, struct slot s)
{
	memmove(set + 1, set, way * sizeof(*set));
	set[0] = s;
}

const struct symbol_location *frame_cache_get(struct frame_cache *c, uint32_t object,
					      uint64_t address)
{
	struct slot *set = set_of(c, object, address);

	for (size_t way = 0; way < WAYS && set[way].location; way++) {
		if (set[way].address == address && set[way].object == object) {
			put_first(set, way, set[way]);
			return set[0].location;
		}
	}
	return NULL;
}

void frame_cache_put(struct frame_cache *c, uint32_t object, uint64_t address,
		     const struct symbol_location *location)
{
	put_first(set_of(c, object, address), WAYS - 1,
		  (struct slot){.address = address, .object = object, .location = location});
}

void frame_cache_end_profile(struct frame_cache *c)
{
	if (c->arena.used_bytes > c->arena.limit_bytes / 4 * 3)
		forget(c);
}

void frame_cache_end_cycle(struct frame_cache *c)
{
	if (c->arena.used_bytes > c->arena.limit_bytes / 2)
		forget(c);
}

size_t frame_cache_bytes(const struct frame_cache *c)
{
	size_t n_items = (size_t)c->texts.cap + c->locations.cap;
	size_t n_slots = (size_t)c->texts.by_hash.n_slots + c->locations.by_hash.n_slots;

	return c->arena.used_bytes + c->spare.used_bytes + c->n_slots * sizeof(*c->slots) +
	       n_items * sizeof(*c->texts.items) + n_slots * sizeof(*c->texts.by_hash.slots);
}
