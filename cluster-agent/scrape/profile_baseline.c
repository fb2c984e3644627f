#include "cluster-agent/scrape/profile_baseline.h"

#include <errno.h>

/* A stack with a value, on its way into the next baseline. */
struct entry {
	uint64_t hash;
	uint32_t row; /* of merged_stacks */
};

void profile_baseline_fini(struct profile_baseline *b)
{
	free(b->words);
	*b = (struct profile_baseline){0};
}

static size_t stride(const struct profile_baseline *b)
{
	return 1 + (size_t)b->n_types;
}

size_t profile_baseline_bytes(const struct profile_baseline *b)
{
	return b->n_entries * stride(b) * sizeof(*b->words);
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

static void fill_words(struct profile_baseline *next, const struct entry *entries,
		       const struct merged_stacks *m, const struct cumulative_columns *c)
{
	uint64_t *w = next->words;

	for (uint32_t e = 0; e < next->n_entries; e++) {
		*w++ = entries[e].hash;
		for (uint32_t i = 0; i < c->n; i++)
			*w++ = (uint64_t)*value_of(m, entries[e].row, c, i);
	}
}

/* Whether every stack of b is still there, with nothing less than it had. */
static bool continues(const struct profile_baseline *b, const struct profile_baseline *next)
{
	const uint64_t *now = next->words, *end = now + next->n_entries * stride(next);
	const uint64_t *was = b->words;

	for (uint32_t e = 0; e < b->n_entries; e++, was += stride(b)) {
		while (now < end && now[0] < was[0])
			now += stride(next);
		if (now == end || now[0] != was[0])
			return false;
		for (uint32_t i = 1; i <= b->n_types; i++)
			if (now[i] < was[i])
				return false;
	}
	return true;
}

/* entries are sorted like b, and contain it. */
static void subtract(struct merged_stacks *m, const struct cumulative_columns *c,
		     const struct entry *entries, const struct profile_baseline *b)
{
	const uint64_t *was = b->words;

	for (uint32_t e = 0, found = 0; found < b->n_entries; e++) {
		if (entries[e].hash != was[0])
			continue;
		for (uint32_t i = 0; i < c->n; i++)
			*value_of(m, entries[e].row, c, i) -= (int64_t)was[1 + i];
		was += stride(b);
		found++;
	}
}

int profile_baseline_subtract(const struct profile_baseline *b, struct merged_stacks *m,
			      const struct cumulative_columns *c, struct arena *arena,
			      struct profile_baseline *ret_next, enum baseline_outcome *ret)
{
	struct profile_baseline next = {
		.n_types = c->n, .types_hash = c->types_hash, .valid = true};
	struct entry *entries = arena_calloc(arena, m->n, sizeof(*entries));

	if (!entries)
		return arena_error(arena, m->n * sizeof(*entries));
	next.n_entries = sort_entries(entries, m, c);
	next.words = arena_alloc(arena, profile_baseline_bytes(&next));
	if (!next.words)
		return arena_error(arena, profile_baseline_bytes(&next));
	fill_words(&next, entries, m, c);

	*ret = BASELINE_NONE;
	if (b->valid && b->types_hash == c->types_hash && b->n_types == c->n)
		*ret = continues(b, &next) ? BASELINE_CONTINUED : BASELINE_RESTARTED;
	if (*ret == BASELINE_CONTINUED)
		subtract(m, c, entries, b);
	*ret_next = next;
	return 0;
}

/* Of the same size as before, mostly: then the heap stays as it is. */
static int make_room(struct profile_baseline *b, size_t size)
{
	uint64_t *words = NULL;

	if (size == profile_baseline_bytes(b))
		return 0;
	if (size > 0) {
		words = malloc(size);
		if (!words)
			return -ENOMEM;
	}
	free(b->words);
	b->words = words;
	return 0;
}

int profile_baseline_commit(struct profile_baseline *b, const struct profile_baseline *next)
{
	size_t size = profile_baseline_bytes(next);
	uint64_t *words;
	int r = make_room(b, size);

	if (r < 0)
		return r;
	words = b->words;
	if (size > 0)
		memcpy(words, next->words, size);
	*b = *next;
	b->words = words;
	return 0;
}
