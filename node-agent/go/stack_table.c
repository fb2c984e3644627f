/* Open addressing; a slot has half of the hash and where the stack is, so that few wrong stacks are looked at. */
#include "node-agent/go/stack_table.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>

#include "common/table.h"

#define FIRST_CHUNK_BYTES ((size_t)16 * 1024)
#define CHUNK_MAX_BYTES \
	((size_t)256 * 1024)       /* each is twice as large as the one before, up to this */
#define UNIT_BYTES sizeof(int64_t) /* of places within a chunk */
#define UNITS_MAX (CHUNK_MAX_BYTES / UNIT_BYTES)
#define LARGE_BYTES ((size_t)4 * 1024 * 1024)
#define FIRST_SLOTS 64u
_Static_assert(sizeof(struct stack_entry) + STACK_TABLE_KEY_MAX_BYTES <= FIRST_CHUNK_BYTES,
	       "a stack lies in one chunk");

struct chunk {
	size_t used, cap; /* bytes */
	uint64_t data[];
};

/* All zero: empty. */
struct slot {
	uint32_t hash;
	uint32_t place; /* of the stack: 1 + number of the chunk * UNITS_MAX + unit */
};

struct stack_table {
	size_t max_bytes;
	size_t n; /* stacks */
	struct slot *slots;
	size_t n_slots; /* a power of two */
	struct chunk **chunks;
	size_t n_chunks, max_chunks;
	size_t chunk_bytes; /* of all */
};

int stack_table_new(struct stack_table **ret, size_t max_bytes)
{
	CLEANUP(stack_table_freep) struct stack_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->max_bytes = max_bytes;
	t->max_chunks = max_bytes / CHUNK_MAX_BYTES + 8;
	t->n_slots = FIRST_SLOTS;
	t->slots = calloc(t->n_slots, sizeof(*t->slots));
	t->chunks = calloc(t->max_chunks, sizeof(*t->chunks));
	if (!t->slots || !t->chunks)
		return -ENOMEM;
	*ret = TAKE_PTR(t);
	return 0;
}

void stack_table_free(struct stack_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_chunks; i++)
		table_free(t->chunks[i]);
	free(t->chunks);
	free(t->slots);
	/* so much is not needed all the time, and the allocator would keep it for this thread */
	if (t->chunk_bytes > LARGE_BYTES)
		(void)malloc_trim(0);
	free(t);
}

static struct stack_entry *entry_at(const struct stack_table *t, uint32_t place)
{
	size_t unit = (size_t)place - 1;

	return (struct stack_entry *)&t->chunks[unit / UNITS_MAX]->data[unit % UNITS_MAX];
}

static size_t entry_bytes(size_t len)
{
	size_t bytes = offsetof(struct stack_entry, key) + len;

	return (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
}

static bool fits(const struct stack_table *t, size_t more_bytes)
{
	size_t used = t->chunk_bytes + t->n_slots * sizeof(*t->slots);

	return used <= t->max_bytes && more_bytes <= t->max_bytes - used;
}

static int grow_slots(struct stack_table *t)
{
	size_t n = t->n_slots * 2;
	struct slot *slots;

	if (!fits(t, n * sizeof(*slots)))
		return -ENOBUFS;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_slots; i++) {
		size_t to = t->slots[i].hash & (n - 1);

		if (t->slots[i].place == 0)
			continue;
		while (slots[to].place != 0)
			to = (to + 1) & (n - 1);
		slots[to] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = n;
	return 0;
}

static int add_chunk(struct stack_table *t)
{
	size_t cap = t->n_chunks > 0 ? t->chunks[t->n_chunks - 1]->cap * 2 : FIRST_CHUNK_BYTES;
	struct chunk *c;

	if (cap > CHUNK_MAX_BYTES)
		cap = CHUNK_MAX_BYTES;
	if (t->n_chunks == t->max_chunks || !fits(t, cap))
		return -ENOBUFS;
	c = table_malloc(sizeof(*c) + cap);
	if (!c)
		return -ENOMEM;
	c->used = 0;
	c->cap = cap;
	t->chunks[t->n_chunks++] = c;
	t->chunk_bytes += cap;
	return 0;
}

static bool has_room(const struct stack_table *t, size_t bytes)
{
	const struct chunk *last = t->n_chunks > 0 ? t->chunks[t->n_chunks - 1] : NULL;

	return last && bytes <= last->cap - last->used;
}

static int add_entry(struct stack_table *t, const void *key, size_t len, uint32_t *ret)
{
	size_t bytes = entry_bytes(len);
	struct stack_entry *e;
	struct chunk *c;

	if (!has_room(t, bytes)) {
		int r = add_chunk(t);

		if (r < 0)
			return r;
	}
	c = t->chunks[t->n_chunks - 1];
	*ret = (uint32_t)((t->n_chunks - 1) * UNITS_MAX + c->used / UNIT_BYTES + 1);
	c->used += bytes;
	e = entry_at(t, *ret);
	e->values = (struct stack_values){{0}};
	e->len = (uint16_t)len;
	memcpy(e->key, key, len);
	return 0;
}

int stack_table_find(struct stack_table *t, const void *key, size_t len, struct stack_entry **ret)
{
	uint32_t hash = table_hash(key, len), place = 0;
	size_t i;
	int r;

	assert(len <= STACK_TABLE_KEY_MAX_BYTES);
	r = t->n < t->n_slots / 2 ? 0 : grow_slots(t);
	if (r < 0)
		return r;
	for (i = hash & (t->n_slots - 1); t->slots[i].place != 0; i = (i + 1) & (t->n_slots - 1)) {
		struct stack_entry *e;

		if (t->slots[i].hash != hash)
			continue;
		e = entry_at(t, t->slots[i].place);
		if (e->len == len && memcmp(e->key, key, len) == 0) {
			*ret = e;
			return 0;
		}
	}
	r = add_entry(t, key, len, &place);
	if (r < 0)
		return r;
	t->slots[i] = (struct slot){hash, place};
	t->n++;
	*ret = entry_at(t, place);
	return 0;
}

struct stack_entry *stack_table_next(const struct stack_table *t, struct stack_cursor *c)
{
	struct stack_entry *e;

	while (c->chunk < t->n_chunks && c->offset == t->chunks[c->chunk]->used)
		*c = (struct stack_cursor){c->chunk + 1, 0};
	if (c->chunk == t->n_chunks)
		return NULL;
	e = (struct stack_entry *)&t->chunks[c->chunk]->data[c->offset / UNIT_BYTES];
	c->offset += entry_bytes(e->len);
	return e;
}

void stack_table_release(struct stack_table *t, const struct stack_cursor *c)
{
	free(t->slots);
	t->slots = NULL;
	for (size_t i = c->chunk; i-- > 0 && t->chunks[i];) {
		table_free(t->chunks[i]);
		t->chunks[i] = NULL;
	}
}
