/*
 * A set-associative cache, as in a CPU: a key belongs to one set of eight neighbouring entries,
 * three cache lines, and is compared with those eight. There is no chain to follow, nothing to
 * allocate and no list to keep for eviction, which only compares the expiry of eight entries.
 * Which set comes next is known before it is needed, so its memory is fetched ahead.
 *
 * An entry keeps 96 of the 128 bits of a key. A false match would take a stack for another one;
 * with a million entries and eight comparisons each, that happens about once in 10^28
 * lookups.
 *
 * One mutex for all: it is taken once per upload and for microseconds, beside the milliseconds
 * that decoding the upload takes.
 */
#include "cluster-agent/ingest/seen_stacks.h"

#include <errno.h>
#include <pthread.h>

#include "common/system/clock.h"

#define N_WAYS 8u
#define CACHE_LINE_BYTES 64u
#define AHEAD 8u

/* last_seen_s is rounded down: a stack may be sent again too early, never too late. */
struct entry {
	uint64_t low;
	uint64_t hash;
	uint32_t high;
	uint32_t last_seen_s; /* 0: free */
};

struct seen_stacks {
	pthread_mutex_t lock;
	size_t n_sets; /* a power of two */
	struct entry entries[];
};

int seen_stacks_new(struct seen_stacks **ret, size_t n_entries)
{
	size_t n_sets = 1;
	struct seen_stacks *s;

	while (n_sets * N_WAYS < n_entries)
		n_sets *= 2;
	s = calloc(1, sizeof(*s) + n_sets * N_WAYS * sizeof(s->entries[0]));
	if (!s)
		return -ENOMEM;
	s->n_sets = n_sets;
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

void seen_stacks_free(struct seen_stacks *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct entry *set_of(struct seen_stacks *s, const struct seen_key *key)
{
	return &s->entries[((key->high >> 32) & (s->n_sets - 1)) * N_WAYS];
}

static bool is_key(const struct entry *e, const struct seen_key *key)
{
	return e->last_seen_s != 0 && e->low == key->low && e->high == (uint32_t)key->high;
}

static uint32_t seconds(int64_t ns)
{
	int64_t s = ns / (int64_t)NS_PER_S;

	return s < 0 ? 0 : s > UINT32_MAX ? UINT32_MAX : (uint32_t)s;
}

static void fetch(struct seen_stacks *s, const struct seen_key *key)
{
	const char *set = (const char *)set_of(s, key);

	for (size_t at = 0; at < N_WAYS * sizeof(struct entry); at += CACHE_LINE_BYTES)
		__builtin_prefetch(set + at);
}

static struct seen_answer find(struct seen_stacks *s, const struct seen_key *key, int64_t end_ns)
{
	const struct entry *set = set_of(s, key);

	for (unsigned i = 0; i < N_WAYS; i++) {
		const struct entry *e = &set[i];

		if (is_key(e, key))
			return (struct seen_answer){
				.hash = e->hash,
				.found = true,
				.known = end_ns <= (int64_t)e->last_seen_s * (int64_t)NS_PER_S,
			};
	}
	return (struct seen_answer){0};
}

void seen_stacks_find(struct seen_stacks *s, const struct seen_key *keys, size_t n, int64_t end_ns,
		      struct seen_answer *ret)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			fetch(s, &keys[i + AHEAD]);
		ret[i] = find(s, &keys[i], end_ns);
	}
	pthread_mutex_unlock(&s->lock);
}

static void add(struct seen_stacks *s, const struct seen_stack *stack, uint32_t last_seen_s)
{
	const struct seen_key *key = &stack->key;
	struct entry *set = set_of(s, key), *at = &set[0];

	for (unsigned i = 0; i < N_WAYS; i++) {
		if (is_key(&set[i], key)) {
			at = &set[i];
			break;
		}
		if (set[i].last_seen_s < at->last_seen_s)
			at = &set[i];
	}
	if (is_key(at, key) && at->last_seen_s > last_seen_s)
		return;
	*at = (struct entry){
		.low = key->low,
		.hash = stack->hash,
		.high = (uint32_t)key->high,
		.last_seen_s = last_seen_s,
	};
}

void seen_stacks_add(struct seen_stacks *s, const struct seen_stack *stacks, size_t n,
		     int64_t last_seen_ns)
{
	uint32_t last_seen_s = seconds(last_seen_ns);

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < n; i++)
		add(s, &stacks[i], last_seen_s);
	pthread_mutex_unlock(&s->lock);
}

void seen_stacks_clear(struct seen_stacks *s)
{
	pthread_mutex_lock(&s->lock);
	memset(s->entries, 0, s->n_sets * N_WAYS * sizeof(s->entries[0]));
	pthread_mutex_unlock(&s->lock);
}
