/*
 * Heap, mutex and block profiles of Go count from the start of the process. What happened in an
 * interval is the difference of two profiles, so the previous values must be kept, for every
 * stack of every endpoint.
 *
 * The new profile's stacks are sorted by hash, like those of the baseline. Two cursors then
 * walk over both in parallel, first to check that nothing has shrunk (otherwise the process has
 * restarted), then to subtract. Hashes are stored as differences and values as varints, which
 * are short because most values are.
 *
 * The result is first built in the arena of the conversion and copied only when the whole
 * conversion has succeeded: a profile that cannot be converted must not change the baseline.
 */
#include "cluster-agent/scrape/profile_baseline.h"

#include <assert.h>
#include <errno.h>

#include "common/limits.h"
#include "common/pprof/pprof_wire.h"

/*
 * Allocations are rounded up to this, so that a baseline that grows a little can stay in place.
 */
#define STEP_BYTES ((size_t)64)

/* A stack that goes into the next baseline. */
struct entry {
	uint64_t hash;
	uint32_t row; /* in merged_stacks */
};

/* A position in a baseline. */
struct cursor {
	struct wire_reader reader;
	uint32_t n_left;
	uint32_t n_types;
	uint64_t hash; /* of the current entry */
	uint64_t values[LIMIT_PPROF_TYPES];
};

void profile_baseline_fini(struct profile_baseline *b)
{
	free(b->data);
	*b = (struct profile_baseline){0};
}

size_t profile_baseline_bytes(const struct profile_baseline *b)
{
	return (b->n_bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
}

static struct cursor cursor_at_start(const struct profile_baseline *b)
{
	return (struct cursor){.reader = {b->data, b->data + b->n_bytes},
			       .n_left = b->n_entries,
			       .n_types = b->n_types};
}

static uint64_t next_number(struct cursor *c)
{
	uint64_t v = 0;
	int r = wire_reader_read_varint(&c->reader, &v);

	assert(r > 0);
	(void)r;
	return v;
}

/* Moves to the next entry. Returns false at the end. */
static bool advance(struct cursor *c)
{
	if (c->n_left == 0)
		return false;
	c->n_left--;
	c->hash += next_number(c);
	for (uint32_t i = 0; i < c->n_types; i++)
		c->values[i] = next_number(c);
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return a->hash < b->hash ? -1 : a->hash > b->hash;
}

static int64_t *value_of(const struct merged_stacks *m, uint32_t row,
			 const struct cumulative_columns *c, uint32_t i)
{
	return &m->values[(size_t)row * m->n_columns + c->columns[i]];
}

static bool has_value(const struct merged_stacks *m, uint32_t row,
		      const struct cumulative_columns *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (*value_of(m, row, c, i) != 0)
			return true;
	return false;
}

static uint32_t sort_entries(struct entry *entries, const struct merged_stacks *m,
			     const struct cumulative_columns *c)
{
	uint32_t n = 0;

	for (uint32_t row = 0; row < m->n; row++)
		if (has_value(m, row, c))
			entries[n++] = (struct entry){m->stacks[row].hash, row};
	qsort(entries, n, sizeof(*entries), compare);
	return n;
}

static uint8_t *put_number(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

static int fill(struct profile_baseline *next, const struct entry *entries,
		const struct merged_stacks *m, const struct cumulative_columns *c,
		struct arena *arena)
{
	enum { MAX_VARINT_BYTES = 10 };
	size_t max = (size_t)next->n_entries * (1 + c->n) * MAX_VARINT_BYTES;
	uint8_t *at = max <= UINT32_MAX ? arena_alloc(arena, max) : NULL;
	uint64_t last = 0;

	if (!at)
		return max <= UINT32_MAX ? arena_error(arena, max) : -EFBIG;
	next->data = at;
	for (uint32_t e = 0; e < next->n_entries; e++) {
		at = put_number(at, entries[e].hash - last);
		last = entries[e].hash;
		for (uint32_t i = 0; i < c->n; i++)
			at = put_number(at, (uint64_t)*value_of(m, entries[e].row, c, i));
	}
	next->n_bytes = (uint32_t)(at - next->data);
	return 0;
}

static bool has_at_least(const struct cursor *current, const struct cursor *previous)
{
	for (uint32_t i = 0; i < previous->n_types; i++)
		if (current->values[i] < previous->values[i])
			return false;
	return true;
}

/* Whether every stack of b still exists, with values that are no smaller. */
static bool continues(const struct profile_baseline *b, const struct profile_baseline *next)
{
	struct cursor previous = cursor_at_start(b), current = cursor_at_start(next);

	while (advance(&previous)) {
		bool more = advance(&current);

		while (more && current.hash < previous.hash)
			more = advance(&current);
		if (!more || current.hash != previous.hash || !has_at_least(&current, &previous))
			return false;
	}
	return true;
}

/* entries are sorted like b and include all of its stacks. */
static void subtract(struct merged_stacks *m, const struct cumulative_columns *c,
		     const struct entry *entries, const struct profile_baseline *b)
{
	struct cursor previous = cursor_at_start(b);

	while (advance(&previous)) {
		while (entries->hash != previous.hash)
			entries++;
		for (uint32_t i = 0; i < c->n; i++)
			*value_of(m, entries->row, c, i) -= (int64_t)previous.values[i];
	}
}

int profile_baseline_subtract(const struct profile_baseline *b, struct merged_stacks *m,
			      const struct cumulative_columns *c, struct arena *arena,
			      struct profile_baseline *ret_next, enum baseline_outcome *ret)
{
	struct profile_baseline next = {
		.n_types = c->n, .types_hash = c->types_hash, .valid = true};
	struct entry *entries = arena_calloc(arena, m->n, sizeof(*entries));
	int r;

	if (!entries)
		return arena_error(arena, m->n * sizeof(*entries));
	next.n_entries = sort_entries(entries, m, c);
	r = fill(&next, entries, m, c, arena);
	if (r < 0)
		return r;
	*ret = BASELINE_NONE;
	if (b->valid && b->types_hash == c->types_hash && b->n_types == c->n)
		*ret = continues(b, &next) ? BASELINE_CONTINUED : BASELINE_RESTARTED;
	if (*ret == BASELINE_CONTINUED)
		subtract(m, c, entries, b);
	*ret_next = next;
	return 0;
}

static int make_room(struct profile_baseline *b, size_t size)
{
	uint8_t *data = NULL;

	if (size == profile_baseline_bytes(b))
		return 0;
	if (size > 0) {
		data = malloc(size);
		if (!data)
			return -ENOMEM;
	}
	free(b->data);
	b->data = data;
	return 0;
}

int profile_baseline_commit(struct profile_baseline *b, const struct profile_baseline *next)
{
	uint8_t *data;
	int r = make_room(b, profile_baseline_bytes(next));

	if (r < 0)
		return r;
	data = b->data;
	if (data && next->n_bytes > 0)
		memcpy(data, next->data, next->n_bytes);
	*b = *next;
	b->data = data;
	return 0;
}
