/*
 * Two structures for two questions. Texts and locations are interned: they lie in an arena, where
 * nothing moves or goes while a profile points to it and all of it goes at once, and are found by
 * their hash in open-addressed tables of pointers.
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

#define SET_SLOTS_MIN 64u /* a power of two */

_Static_assert(offsetof(struct symbol_location, hash) == 0, "as struct text");

struct text {
	uint32_t hash;
	char s[];
};

/* Texts or locations, which both begin with their hash. */
struct set {
	const uint32_t **slots; /* NULL: free; at most three quarters are used */
	size_t n_slots;         /* 0 or a power of two */
	size_t n;
};

typedef bool equal_fn(const uint32_t *element, const void *key, size_t len);

struct slot {
	uint64_t address;
	const struct symbol_location *location; /* NULL: free */
	uint32_t object;
};

struct frame_cache {
	struct arena arena; /* texts and locations */
	struct arena spare; /* the same, of locations that must fit when arena is full */
	struct set texts;
	struct set locations; /* the key: pointers of interned texts, and lines */
	struct slot *slots;   /* sets of WAYS, the last used first */
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

/* ---- sets ---- */

static void set_clear(struct set *s)
{
	free(s->slots);
	*s = (struct set){0};
}

static const uint32_t **free_slot(const struct set *s, uint32_t hash)
{
	size_t i = hash & (s->n_slots - 1);

	while (s->slots[i])
		i = (i + 1) & (s->n_slots - 1);
	return &s->slots[i];
}

static const void *set_find(const struct set *s, uint32_t hash, equal_fn *equal, const void *key,
			    size_t len)
{
	if (s->n_slots == 0)
		return NULL;
	for (size_t i = hash & (s->n_slots - 1); s->slots[i]; i = (i + 1) & (s->n_slots - 1)) {
		if (*s->slots[i] == hash && equal(s->slots[i], key, len))
			return s->slots[i];
	}
	return NULL;
}

/* Makes room for one more. */
static int set_reserve(struct set *s)
{
	struct set larger = {.n_slots = s->n_slots ? 2 * s->n_slots : SET_SLOTS_MIN, .n = s->n};

	if ((s->n + 1) * 4 <= s->n_slots * 3)
		return 0;
	larger.slots = calloc(larger.n_slots, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_slots; i++) {
		if (s->slots[i])
			*free_slot(&larger, *s->slots[i]) = s->slots[i];
	}
	free(s->slots);
	*s = larger;
	return 0;
}

/* After set_reserve(). */
static void set_add(struct set *s, const uint32_t *element)
{
	*free_slot(s, *element) = element;
	s->n++;
}

static bool is_text(const uint32_t *element, const void *key, size_t len)
{
	const struct text *t = (const void *)element;

	(void)len;
	return strcmp(t->s, key) == 0;
}

static bool is_location(const uint32_t *element, const void *key, size_t len)
{
	const struct symbol_location *l = (const void *)element;

	return l->n * sizeof(*l->frames) == len && memcmp(l->frames, key, len) == 0;
}

/* ---- texts and locations ---- */

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
	uint32_t hash = table_hash(s, len);
	const struct text *found = set_find(&c->texts, hash, is_text, s, len);
	struct text *t;
	int r = 0;

	if (!found) {
		r = set_reserve(&c->texts);
		t = r == 0 ? take(c, offsetof(struct text, s) + len + 1, spare, &r) : NULL;
		if (!t)
			return r;
		t->hash = hash;
		memcpy(t->s, s, len + 1);
		set_add(&c->texts, &t->hash);
		found = t;
	}
	*ret = found->s;
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
	const struct symbol_location *found;
	struct symbol_location *l;
	size_t key_len = n * sizeof(*key);
	uint32_t hash;
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
	hash = table_hash(key, key_len);
	found = set_find(&c->locations, hash, is_location, key, key_len);
	if (!found) {
		r = set_reserve(&c->locations);
		l = r == 0 ? take(c, sizeof(*l) + key_len, spare, &r) : NULL;
		if (!l)
			return r;
		l->hash = hash;
		l->n = (uint32_t)n;
		memcpy(l->frames, key, key_len);
		set_add(&c->locations, &l->hash);
		found = l;
	}
	*ret = found;
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
	return c->arena.used_bytes + c->spare.used_bytes + c->n_slots * sizeof(*c->slots) +
	       (c->texts.n_slots + c->locations.n_slots) * sizeof(*c->texts.slots);
}
