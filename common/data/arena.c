/*
 * Decoding a profile makes hundreds of thousands of small objects that all die together. An
 * arena makes that cheap (an addition per object, one free() per chunk) and bounded: the limit
 * counts whole chunks, so what the process really uses stays below it.
 *
 * Chunks double in size from 4 KiB up to 1 MiB: a small arena stays small, a large one makes
 * few calls of malloc(). An object of more than half the next chunk gets a chunk of its own
 * after the first, which keeps the free space of the first in use.
 */
#include "common/data/arena.h"

#include <errno.h>
#include <stdalign.h>

#define ARENA_ALIGN alignof(max_align_t)
#define ARENA_CHUNK_MIN_BYTES ((size_t)4 * 1024)
#define ARENA_CHUNK_MAX_BYTES ((size_t)1024 * 1024)

/*
 * ASan sees one allocation per chunk and would miss a read beyond an object. So the bytes that
 * are not handed out are poisoned, and each object is followed by a poisoned gap.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define ARENA_GAP_BYTES ARENA_ALIGN
#define poison(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define unpoison(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define ARENA_GAP_BYTES ((size_t)0)
#define poison(p, n) ((void)(p), (void)(n))
#define unpoison(p, n) ((void)(p), (void)(n))
#endif

struct arena_chunk {
	struct arena_chunk *next;
	size_t cap;  /* bytes of data */
	size_t used; /* a multiple of ARENA_ALIGN */
	alignas(max_align_t) char data[];
};

void arena_init(struct arena *a, size_t limit_bytes)
{
	*a = (struct arena){.limit_bytes = limit_bytes};
}

static void free_chunk(struct arena *a, struct arena_chunk *c)
{
	a->used_bytes -= sizeof(*c) + c->cap;
	unpoison(c->data, c->cap);
	free(c);
}

void arena_fini(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *c = a->chunks;

		a->chunks = c->next;
		free_chunk(a, c);
	}
}

void arena_clear(struct arena *a)
{
	struct arena_chunk *keep = NULL, *c = a->chunks, *next;

	for (; c; c = next) {
		next = c->next;
		/*
		 * never keep a chunk made for one huge object: its memory might not be needed
		 * again
		 */
		if (!keep && c->cap <= ARENA_CHUNK_MAX_BYTES)
			keep = c;
		else
			free_chunk(a, c);
	}
	if (keep) {
		keep->next = NULL;
		keep->used = 0;
		poison(keep->data, keep->cap);
	}
	a->chunks = keep;
}

static struct arena_chunk *new_chunk(struct arena *a, size_t cap)
{
	struct arena_chunk *c;

	c = malloc(sizeof(*c) + cap);
	if (!c)
		return NULL;
	*c = (struct arena_chunk){.cap = cap};
	poison(c->data, cap);
	a->used_bytes += sizeof(*c) + cap;
	return c;
}

/*
 * The space that size bytes take in a chunk. Never 0, so that no two objects share an address.
 */
static size_t rounded(size_t size)
{
	return (size + ARENA_GAP_BYTES + !size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

static bool limit_allows(const struct arena *a, size_t need)
{
	size_t room = a->limit_bytes - a->used_bytes;

	return room >= sizeof(struct arena_chunk) && need <= room - sizeof(struct arena_chunk);
}

/*
 * Links in a chunk with at least need free bytes. Returns NULL if out of memory or over the
 * limit.
 */
static struct arena_chunk *add_chunk(struct arena *a, size_t need)
{
	struct arena_chunk *c, *head = a->chunks;
	size_t room, cap;

	if (!limit_allows(a, need))
		return NULL;
	room = a->limit_bytes - a->used_bytes - sizeof(*c);

	cap = head ? head->cap * 2 : ARENA_CHUNK_MIN_BYTES;
	if (cap > ARENA_CHUNK_MAX_BYTES)
		cap = ARENA_CHUNK_MAX_BYTES;

	/* a large object gets a chunk of its own, after the first, which still has space */
	if (head && need > cap / 2) {
		c = new_chunk(a, need);
		if (c) {
			c->next = head->next;
			head->next = c;
		}
		return c;
	}

	if (cap < need)
		cap = need;
	if (cap > room)
		cap = room / ARENA_ALIGN * ARENA_ALIGN;
	c = new_chunk(a, cap < need ? need : cap);
	if (c) {
		c->next = head;
		a->chunks = c;
	}
	return c;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_chunk *c = a->chunks;
	size_t need;
	char *p;

	if (size > a->limit_bytes || size > SIZE_MAX / 2)
		return NULL;

	need = rounded(size);
	if (!c || need > c->cap - c->used) {
		c = add_chunk(a, need);
		if (!c)
			return NULL;
	}

	p = c->data + c->used;
	c->used += need;
	unpoison(p, size);
	return p;
}

int arena_error(const struct arena *a, size_t size)
{
	if (size > a->limit_bytes || size > SIZE_MAX / 2)
		return -EFBIG;
	return limit_allows(a, rounded(size)) ? -ENOMEM : -EFBIG;
}

void *arena_calloc(struct arena *a, size_t n, size_t size)
{
	size_t total;
	void *p;

	if (__builtin_mul_overflow(n, size, &total))
		return NULL;
	p = arena_alloc(a, total);
	if (p)
		memset(p, 0, total);
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p;

	if (len == SIZE_MAX)
		return NULL;
	p = arena_alloc(a, len + 1);
	if (!p)
		return NULL;
	if (len > 0)
		memcpy(p, s, len);
	p[len] = '\0';
	return p;
}
