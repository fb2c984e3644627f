/*
 * Two structures for two questions. Texts and locations are interned in tables whose elements lie
 * in an arena: nothing in it moves or goes while a profile points to it, and all of it goes at
 * once.
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
#include "common/data/table.h"

#define WAYS 4u
#define ADDRESSES_MIN 64u

struct text {
	UT_hash_handle hh;
	char s[];
};

struct location_node {
	UT_hash_handle hh;
	struct symbol_location location; /* the key: pointers of interned texts, and lines */
};

struct slot {
	uint64_t address;
	const struct symbol_location *location; /* NULL: free */
	uint32_t object;
};

struct frame_cache {
	struct arena arena; /* texts and locations */
	struct arena spare; /* the same, of locations that must fit when arena is full */
	struct text *texts;
	struct location_node *locations;
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

static void forget(struct frame_cache *c)
{
	HASH_CLEAR(hh, c->texts);
	HASH_CLEAR(hh, c->locations);
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

/* Returns NULL and sets *ret_error if there is none. */
static void *take(struct frame_cache *c, size_t size, bool spare, int *ret_error)
{
	void *p = arena_alloc(&c->arena, size);

	if (!p && spare)
		p = arena_alloc(&c->spare, size);
	if (!p)
		*ret_error = arena_error(spare ? &c->spare : &c->arena, size);
	return p;
}

static int intern_text(struct frame_cache *c, const char *s, bool spare, const char **ret)
{
	size_t len = strlen(s);
	struct text *t = NULL;
	int r = 0;

	HASH_FIND(hh, c->texts, s, len, t);
	if (!t) {
		t = take(c, sizeof(*t) + len + 1, spare, &r);
		if (!t)
			return r;
		memcpy(t->s, s, len + 1);
		HASH_ADD_KEYPTR(hh, c->texts, t->s, len, t);
		if (!TABLE_ADDED(hh, t))
			return -ENOMEM;
	}
	*ret = t->s;
	return 0;
}

int frame_cache_text(struct frame_cache *c, const char *text, const char **ret)
{
	return intern_text(c, text, false, ret);
}

static int intern(struct frame_cache *c, const struct symbol_frame *frames, size_t n, bool spare,
		  const struct symbol_location **ret)
{
	struct symbol_frame key[SYMBOL_LOCATION_FRAMES_MAX] = {0};
	struct location_node *node = NULL;
	size_t key_len = n * sizeof(*key);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		key[i].line = frames[i].line;
		key[i].start_line = frames[i].start_line;
		r = intern_text(c, frames[i].function, spare, &key[i].function);
		if (r == 0)
			r = intern_text(c, frames[i].file, spare, &key[i].file);
	}
	if (r < 0)
		return r;
	HASH_FIND(hh, c->locations, key, key_len, node);
	if (!node) {
		node = take(c, sizeof(*node) + key_len, spare, &r);
		if (!node)
			return r;
		node->location.n = n;
		memcpy(node->location.frames, key, key_len);
		HASH_ADD_KEYPTR(hh, c->locations, node->location.frames, key_len, node);
		if (!TABLE_ADDED(hh, node))
			return -ENOMEM;
	}
	*ret = &node->location;
	return 0;
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
	return c->arena.used_bytes + c->spare.used_bytes + c->n_slots * sizeof(*c->slots);
}
