#include "node-agent/profile/stack_table.h"

#include <assert.h>
#include <errno.h>

#include "common/data/arena.h"
#include "common/data/array.h"
#include "common/data/number_index.h"
#include "common/data/table.h"

#define GROUPS_LOG2 12u
#define GROUPS (1u << GROUPS_LOG2)
#define GOLDEN_RATIO 0x9e3779b9u
#define FEW_STACKS 1000u /* deflate finds what they have in common in any order */

struct entry {
	uint32_t len;
	int64_t values[]; /* then the key */
};

struct stack_table {
	size_t n_values;
	size_t max_bytes;
	struct arena arena; /* holds the entries */
	struct entry **entries;
	uint32_t n, cap;
	struct number_index index;
	size_t used_bytes;
};

int stack_table_new(struct stack_table **ret, size_t n_values, size_t max_bytes)
{
	struct stack_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	assert(n_values <= STACK_VALUES_MAX);
	t->n_values = n_values;
	t->max_bytes = max_bytes;
	arena_init(&t->arena, max_bytes);
	*ret = t;
	return 0;
}

void stack_table_free(struct stack_table *t)
{
	if (!t)
		return;
	number_index_fini(&t->index);
	free(t->entries);
	arena_fini(&t->arena);
	free(t);
}

static uint8_t *key_of(const struct stack_table *t, struct entry *e)
{
	return (uint8_t *)&e->values[t->n_values];
}

static struct entry *find(const struct stack_table *t, uint32_t hash, const void *key, size_t len)
{
	uint32_t at = hash, number;

	while (number_index_next(&t->index, hash, &at, &number)) {
		struct entry *e = t->entries[number];

		if (e->len == len && memcmp(key_of(t, e), key, len) == 0)
			return e;
	}
	return NULL;
}

static int add(struct stack_table *t, uint32_t hash, const void *key, size_t len,
	       struct entry **ret)
{
	size_t bytes = sizeof(struct entry) + t->n_values * sizeof(int64_t) + len;
	struct entry *e;
	int r;

	if (t->arena.used_bytes + 2 * t->cap * sizeof(struct entry *) +
		    number_index_bytes_with_one_more(&t->index) >
	    t->max_bytes)
		return -ENOBUFS;
	r = ARRAY_RESERVE(t->entries, t->cap, t->n + 1);
	if (r < 0)
		return r;
	e = arena_calloc(&t->arena, 1, bytes);
	if (!e)
		return arena_error(&t->arena, bytes) == -EFBIG ? -ENOBUFS : -ENOMEM;
	r = number_index_add(&t->index, hash, t->n);
	if (r < 0)
		return r;
	e->len = (uint32_t)len;
	memcpy(key_of(t, e), key, len);
	t->entries[t->n++] = e;
	t->used_bytes += bytes;
	*ret = e;
	return 0;
}

int stack_table_add(struct stack_table *t, const void *key, size_t len,
		    const struct stack_values *values)
{
	uint32_t hash = table_hash(key, len);
	struct entry *e = find(t, hash, key, len);
	int r = 0;

	assert(len <= STACK_TABLE_KEY_MAX_BYTES);
	if (!e)
		r = add(t, hash, key, len, &e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < t->n_values; i++)
		e->values[i] = stack_value_sum(e->values[i], values->v[i]);
	return 0;
}

/* ---- all of them ---- */

void stack_table_forget(struct stack_table *t, size_t value)
{
	for (uint32_t i = 0; i < t->n; i++)
		t->entries[i]->values[value] = 0;
}

size_t stack_table_bytes(const struct stack_table *t)
{
	return t->used_bytes;
}

/* Stacks with the same first bytes have the same group. */
static uint32_t group_of(const struct stack_table *t, struct entry *e)
{
	uint32_t head = 0;

	memcpy(&head, key_of(t, e), e->len < sizeof(head) ? e->len : sizeof(head));
	return (head * GOLDEN_RATIO) >> (32 - GROUPS_LOG2);
}

/* Sorts by counting. */
void stack_table_group(struct stack_table *t)
{
	uint32_t ends[GROUPS] = {0};
	struct entry **grouped;

	if (t->n < FEW_STACKS)
		return;
	grouped = malloc(t->cap * sizeof(struct entry *));
	if (!grouped)
		return;
	for (uint32_t i = 0; i < t->n; i++)
		ends[group_of(t, t->entries[i])]++;
	for (uint32_t i = 1; i < GROUPS; i++)
		ends[i] += ends[i - 1];
	for (uint32_t i = t->n; i-- > 0;)
		grouped[--ends[group_of(t, t->entries[i])]] = t->entries[i];
	free(t->entries);
	t->entries = grouped;
}

static bool has_value(const struct stack_table *t, const struct entry *e)
{
	for (size_t i = 0; i < t->n_values; i++) {
		if (e->values[i] != 0)
			return true;
	}
	return false;
}

bool stack_table_next(const struct stack_table *t, size_t *at, struct stack_view *ret)
{
	while (*at < t->n) {
		struct entry *e = t->entries[(*at)++];

		if (!has_value(t, e))
			continue;
		*ret = (struct stack_view){key_of(t, e), e->len, e->values};
		return true;
	}
	return false;
}

void stack_table_clear(struct stack_table *t)
{
	number_index_clear(&t->index);
	arena_clear(&t->arena);
	t->n = 0;
	t->used_bytes = 0;
}
