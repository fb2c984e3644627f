/*
 * Stacks lie one behind the other in chunks, each as its key followed by its packed values. A
 * hash table with open addressing finds them; a slot has half of the hash beside the place of
 * the stack, so that hardly any wrong stack is compared. Values that outgrow their room move
 * with their stack to the end, which is rare, because values of one profile have similar
 * lengths.
 *
 * With more stacks than a processor's cache holds, time goes into waiting for memory.
 * Therefore adding is in two steps: the new stack is appended and the slot is prefetched; the
 * lookup happens when the next stack is added. If the stack turns out to exist, the appended
 * copy is overwritten.
 *
 * At the end the slots are no longer needed as a hash table, and half of them is free. That
 * half takes the order in which stacks are written: by a hash of their first bytes, with a
 * counting sort. Stacks with the same leaf are then neighbours, which deflate finds.
 */
#include "node-agent/profile/stack_table.h"

#include <assert.h>
#include <errno.h>

#include "common/data/table.h"
#include "common/pprof/pprof_wire.h"
#include "common/pprof/pprof_writer.h"

#define FIRST_CHUNK_BYTES ((size_t)16 * 1024)
/* Each chunk is twice as large as the one before, up to this. */
#define CHUNK_MAX_BYTES ((size_t)256 * 1024)
#define UNIT_BYTES ((size_t)4) /* of places within a chunk */
#define UNITS_MAX (CHUNK_MAX_BYTES / UNIT_BYTES)
#define FIRST_SLOTS 64u
#define GROUPS_LOG2 12u
#define GROUPS (1u << GROUPS_LOG2)
#define GOLDEN_RATIO 0x9e3779b9u
#define AHEAD 8u         /* stacks */
#define FEW_STACKS 1000u /* deflate finds what they have in common in any order */
#define VALUES_MAX_BYTES (STACK_VALUES_MAX * PPROF_PACKED_MAX_BYTES)

/* A stack, at a multiple of UNIT_BYTES. */
struct entry {
	uint16_t len;
	uint8_t values_len; /* 0: the stack has moved to a place with room for its values */
	uint8_t values_cap;
	uint8_t bytes[]; /* the key, then the values */
};
_Static_assert(sizeof(struct entry) + STACK_TABLE_KEY_MAX_BYTES + VALUES_MAX_BYTES <=
		       FIRST_CHUNK_BYTES,
	       "a stack lies in one chunk");

struct chunk {
	size_t used, cap; /* bytes */
	uint32_t data[];
};

/*
 * The upper half is half of the hash, or the group once stacks are grouped; the lower half is
 * the place of the stack: 1 + number of the chunk * UNITS_MAX + unit. 0: empty.
 */
typedef uint64_t slot;
#define PLACE_BITS 32u

struct stack_table {
	size_t max_bytes;
	size_t n_values;
	size_t n; /* stacks */
	slot *slots;
	size_t n_slots; /* a power of two */
	struct chunk **chunks;
	size_t n_chunks, max_chunks;
	size_t last;        /* index of the chunk being filled */
	size_t chunk_bytes; /* of all chunks */
	size_t used_bytes;  /* of chunk_bytes */
	/* The stack added last, which lies behind those that were looked up. */
	bool is_pending;
	uint32_t pending_hash;
	struct stack_values pending_values;
};

int stack_table_new(struct stack_table **ret, size_t n_values, size_t max_bytes)
{
	CLEANUP(stack_table_freep) struct stack_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	assert(n_values <= STACK_VALUES_MAX);
	t->n_values = n_values;
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
	free(t);
}

static struct entry *entry_at(const struct stack_table *t, uint32_t place)
{
	size_t unit = (size_t)place - 1;

	return (struct entry *)&t->chunks[unit / UNITS_MAX]->data[unit % UNITS_MAX];
}

static uint32_t make_place(size_t chunk, size_t unit)
{
	return (uint32_t)(chunk * UNITS_MAX + unit + 1);
}

static size_t round_up(size_t bytes)
{
	return (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
}

static size_t entry_bytes(const struct entry *e)
{
	return round_up(sizeof(*e) + e->len + e->values_cap);
}

/* ---- values ---- */

static uint8_t pack_values(const struct stack_table *t, const struct stack_values *values,
			   uint8_t to[VALUES_MAX_BYTES])
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_values; i++)
		n += pprof_pack(to + n, (uint64_t)values->v[i]);
	return (uint8_t)n;
}

static void unpack_values(const struct stack_table *t, const struct entry *e,
			  struct stack_values *ret)
{
	const uint8_t *values = e->bytes + e->len;
	struct wire_reader r = {values, values + e->values_len};
	uint64_t v;

	*ret = (struct stack_values){{0}};
	for (size_t i = 0; i < t->n_values && wire_reader_read_varint(&r, &v) == 1; i++)
		ret->v[i] = (int64_t)v;
}

/* A value of zero is packed as a zero byte. */
static bool has_value(const struct entry *e)
{
	for (size_t i = 0; i < e->values_len; i++) {
		if (e->bytes[e->len + i] != 0)
			return true;
	}
	return false;
}

/* ---- places ---- */

static bool fits(const struct stack_table *t, size_t more_bytes)
{
	size_t used = t->chunk_bytes + t->n_slots * sizeof(*t->slots);

	return used <= t->max_bytes && more_bytes <= t->max_bytes - used;
}

static uint32_t place_of(slot s)
{
	return (uint32_t)s;
}

static uint32_t hash_of(slot s)
{
	return (uint32_t)(s >> PLACE_BITS);
}

static slot make_slot(uint32_t hash, uint32_t place)
{
	return (slot)hash << PLACE_BITS | place;
}

static int grow_slots(struct stack_table *t)
{
	size_t n = t->n_slots * 2;
	slot *slots;

	if (!fits(t, n * sizeof(*slots)))
		return -ENOBUFS;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_slots; i++) {
		size_t to = hash_of(t->slots[i]) & (n - 1);

		if (t->slots[i] == 0)
			continue;
		while (slots[to] != 0)
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

/* Makes room for an entry behind the last one. */
static int reserve(struct stack_table *t, size_t bytes)
{
	const struct chunk *c = t->n_chunks > 0 ? t->chunks[t->last] : NULL;

	if (c && bytes <= c->cap - c->used)
		return 0;
	if (t->last + 1 >= t->n_chunks) {
		int r = add_chunk(t);

		if (r < 0)
			return r;
	}
	t->last += c != NULL;
	return 0;
}

/* The place behind the last entry, where there is room. */
static struct entry *free_entry(const struct stack_table *t)
{
	struct chunk *c = t->chunks[t->last];

	return (struct entry *)&c->data[c->used / UNIT_BYTES];
}

/* Makes the free entry one of the table, and returns its place. */
static uint32_t take_entry(struct stack_table *t)
{
	struct chunk *c = t->chunks[t->last];
	size_t unit = c->used / UNIT_BYTES, bytes = entry_bytes(free_entry(t));

	c->used += bytes;
	t->used_bytes += bytes;
	return make_place(t->last, unit);
}

static void set_values(struct entry *e, const uint8_t *packed, uint8_t len)
{
	memcpy(e->bytes + e->len, packed, len);
	e->values_len = len;
}

/*
 * Adds to the stack in this slot. It moves if the sums need more room, then to room for any
 * values.
 */
static int add_values(struct stack_table *t, slot *s, const struct stack_values *values)
{
	struct entry *e = entry_at(t, place_of(*s)), *other;
	uint8_t packed[VALUES_MAX_BYTES], len;
	struct stack_values sum;
	int r;

	unpack_values(t, e, &sum);
	for (size_t i = 0; i < t->n_values; i++)
		stack_values_add(&sum, i, values->v[i]);
	len = pack_values(t, &sum, packed);
	if (len <= e->values_cap) {
		set_values(e, packed, len);
		return 0;
	}
	r = reserve(t, round_up(sizeof(*e) + e->len + VALUES_MAX_BYTES));
	if (r < 0)
		return r;
	other = free_entry(t);
	other->len = e->len;
	other->values_cap = VALUES_MAX_BYTES;
	memcpy(other->bytes, e->bytes, e->len);
	set_values(other, packed, len);
	e->values_len = 0;
	*s = make_slot(hash_of(*s), take_entry(t));
	return 0;
}

/* Returns the slot of a stack, or the empty one where it belongs. */
static slot *find_slot(const struct stack_table *t, uint32_t hash, const struct entry *like)
{
	for (size_t i = hash & (t->n_slots - 1);; i = (i + 1) & (t->n_slots - 1)) {
		const struct entry *e;

		if (t->slots[i] == 0)
			return &t->slots[i];
		if (hash_of(t->slots[i]) != hash)
			continue;
		e = entry_at(t, place_of(t->slots[i]));
		if (e->len == like->len && memcmp(e->bytes, like->bytes, e->len) == 0)
			return &t->slots[i];
	}
}

int stack_table_settle(struct stack_table *t)
{
	slot *s;
	int r;

	if (!t->is_pending)
		return 0;
	r = t->n < t->n_slots / 2 ? 0 : grow_slots(t);
	if (r < 0)
		return r;
	s = find_slot(t, t->pending_hash, free_entry(t));
	if (*s == 0) {
		*s = make_slot(t->pending_hash, take_entry(t));
		t->n++;
	} else {
		r = add_values(t, s, &t->pending_values);
	}
	t->is_pending = r < 0;
	return r;
}

int stack_table_add(struct stack_table *t, const void *key, size_t len,
		    const struct stack_values *values)
{
	uint32_t hash = table_hash(key, len);
	uint8_t packed[VALUES_MAX_BYTES], values_len;
	struct entry *e;
	int r;

	assert(len <= STACK_TABLE_KEY_MAX_BYTES);
	__builtin_prefetch(&t->slots[hash & (t->n_slots - 1)]);
	r = stack_table_settle(t);
	if (r < 0)
		return r;
	values_len = pack_values(t, values, packed);
	r = reserve(t, round_up(sizeof(*e) + len + values_len));
	if (r < 0)
		return r;
	e = free_entry(t);
	e->len = (uint16_t)len;
	e->values_cap = values_len;
	memcpy(e->bytes, key, len);
	set_values(e, packed, values_len);
	t->pending_hash = hash;
	t->pending_values = *values;
	t->is_pending = true;
	return 0;
}

/* ---- all of them ---- */

void stack_table_forget(struct stack_table *t, size_t value)
{
	uint8_t packed[VALUES_MAX_BYTES];
	struct stack_values values;

	for (size_t i = 0; i < t->n_slots; i++) {
		struct entry *e;

		if (t->slots[i] == 0)
			continue;
		e = entry_at(t, place_of(t->slots[i]));
		unpack_values(t, e, &values);
		values.v[value] = 0;
		set_values(e, packed, pack_values(t, &values, packed));
	}
}

size_t stack_table_bytes(const struct stack_table *t)
{
	return t->used_bytes;
}

/* Stacks with the same first bytes have the same group. */
static uint32_t group_of(const struct entry *e)
{
	uint32_t head = 0;

	memcpy(&head, e->bytes, e->len < sizeof(head) ? e->len : sizeof(head));
	return (head * GOLDEN_RATIO) >> (32 - GROUPS_LOG2);
}

/* Sorts by counting, from the first half of the slots into the second. */
void stack_table_group(struct stack_table *t)
{
	slot *groups = t->slots, *grouped = t->slots + t->n_slots / 2;
	bool is_one = t->n < FEW_STACKS;
	uint32_t ends[GROUPS] = {0};
	size_t n = 0;

	for (size_t c = 0; c < t->n_chunks; c++) {
		const struct chunk *in = t->chunks[c];
		const struct entry *e;

		for (size_t unit = 0; unit < in->used / UNIT_BYTES;
		     unit += entry_bytes(e) / UNIT_BYTES) {
			uint32_t group;

			e = (const struct entry *)&in->data[unit];
			if (e->values_len == 0)
				continue;
			group = is_one ? 0 : group_of(e);
			ends[group]++;
			groups[n++] = make_slot(group, make_place(c, unit));
		}
	}
	for (uint32_t i = 1; i < GROUPS; i++)
		ends[i] += ends[i - 1];
	while (n-- > 0)
		grouped[--ends[hash_of(groups[n])]] = groups[n];
}

bool stack_table_next(const struct stack_table *t, size_t *at, struct stack_view *ret)
{
	const slot *grouped = t->slots + t->n_slots / 2;

	while (*at < t->n) {
		const struct entry *e = entry_at(t, place_of(grouped[*at]));

		if (*at + AHEAD < t->n)
			__builtin_prefetch(entry_at(t, place_of(grouped[*at + AHEAD])));
		(*at)++;
		if (!has_value(e))
			continue;
		*ret = (struct stack_view){e->bytes, e->len, e->bytes + e->len, e->values_len};
		return true;
	}
	return false;
}

void stack_table_clear(struct stack_table *t)
{
	for (size_t i = 0; i < t->n_chunks; i++)
		t->chunks[i]->used = 0;
	memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
	t->last = 0;
	t->used_bytes = 0;
	t->n = 0;
}
