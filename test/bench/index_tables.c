/*
 * What the special tables of storing and querying save against common/data/table.h.
 *
 * Each line compares two ways to do the same work, in turns; it prints the median CPU time in
 * ns per element of each, and the bytes per element that each allocates:
 *   hash_index   finding or adding the stacks of one profile, each met twice
 *   pair_table   adding the children of a flame tree's nodes, and finding each ten times
 *   seen_stacks  checking and adding the stacks of uploads, as many as the cache has places
 *   id_set       adding twice as many ids as are remembered
 */
#include <malloc.h>

#include "cluster-agent/ingest/seen_stacks.h"
#include "common/flame/pair_table.h"
#include "cluster-agent/wal/id_set.h"
#include "common/data/hash_index.h"
#include "common/data/table.h"
#include "common/system/clock.h"

#define ROUNDS 15
#define FINDS 10

struct cost {
	uint64_t ns;
	size_t bytes;
};

struct element {
	UT_hash_handle hh;
	uint64_t key[2];
	uint32_t value;
};

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void require(bool ok)
{
	if (!ok)
		abort();
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static struct element *find(struct element *table, uint64_t a, uint64_t b)
{
	const uint64_t key[2] = {a, b};
	struct element *e;

	HASH_FIND(hh, table, key, sizeof(key), e);
	return e;
}

static void add(struct element **table, uint64_t a, uint64_t b, uint32_t value)
{
	struct element *e = table_malloc(sizeof(*e));

	require(e);
	*e = (struct element){.key = {a, b}, .value = value};
	HASH_ADD(hh, *table, key, sizeof(e->key), e);
}

static void free_all(struct element **table)
{
	struct element *e, *next;

	HASH_ITER(hh, *table, e, next)
	{
		HASH_DEL(*table, e);
		table_free(e);
	}
}

/* ---- hash_index ---- */

struct stack {
	uint64_t hash;
	uint64_t rest;
};

static struct cost index_special(uint32_t n)
{
	CLEANUP(arena_fini) struct arena arena;
	uint64_t start = clock_thread_cpu_ns();
	struct hash_index x;
	struct stack *stacks;
	uint32_t n_stacks = 0;

	arena_init(&arena, SIZE_MAX);
	stacks = arena_calloc(&arena, n, sizeof(*stacks));
	require(stacks && hash_index_init(&x, &arena, n, stacks, sizeof(*stacks)) == 0);
	for (unsigned round = 0; round < 2; round++) {
		uint64_t random = 1;

		for (uint32_t i = 0; i < n; i++) {
			uint64_t hash = next_random(&random);
			uint32_t *slot = hash_index_slot(&x, hash);

			if (*slot == 0) {
				stacks[n_stacks] = (struct stack){hash, i};
				*slot = ++n_stacks;
			}
		}
	}
	require(n_stacks == n);
	return (struct cost){clock_thread_cpu_ns() - start, arena.used_bytes};
}

static struct cost index_table(uint32_t n)
{
	struct element *table = NULL;
	size_t before = allocated();
	uint64_t start = clock_thread_cpu_ns();
	struct cost c;

	for (unsigned round = 0; round < 2; round++) {
		uint64_t random = 1;

		for (uint32_t i = 0; i < n; i++) {
			uint64_t hash = next_random(&random);

			if (!find(table, hash, 0))
				add(&table, hash, 0, i);
		}
	}
	c = (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
	free_all(&table);
	return c;
}

/* ---- pair_table ---- */

/* A node's parent is any earlier node; the functions of its children differ. */
static uint32_t parent_of(uint32_t i)
{
	uint64_t random = i;

	return i == 0 ? 0 : (uint32_t)(next_random(&random) % i);
}

static struct cost pairs_special(uint32_t n)
{
	CLEANUP(pair_table_fini) struct pair_table t = {0};
	size_t before = allocated();
	uint64_t start = clock_thread_cpu_ns();

	for (uint32_t i = 0; i < n; i++)
		require(pair_table_add(&t, parent_of(i), i, i) == 0);
	for (uint32_t k = 0; k < FINDS; k++)
		for (uint32_t i = 0; i < n; i++)
			require(pair_table_find(&t, parent_of(i), i) == i);
	return (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
}

static struct cost pairs_table(uint32_t n)
{
	struct element *table = NULL;
	size_t before = allocated();
	uint64_t start = clock_thread_cpu_ns();
	struct cost c;

	for (uint32_t i = 0; i < n; i++)
		add(&table, parent_of(i), i, i);
	for (uint32_t k = 0; k < FINDS; k++)
		for (uint32_t i = 0; i < n; i++)
			require(find(table, parent_of(i), i)->value == i);
	c = (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
	free_all(&table);
	return c;
}

/* ---- seen_stacks ---- */

#define END_NS (INT64_C(1700000000) * (int64_t)NS_PER_S)

static struct cost seen_special(uint32_t n)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *s = NULL;
	size_t before = allocated();
	uint64_t random = 1, start = clock_thread_cpu_ns();

	require(seen_stacks_new(&s, n) == 0);
	for (uint32_t i = 0; i < n; i++) {
		struct seen_stack stack = {{next_random(&random), next_random(&random)}, i};
		struct seen_answer answer;

		seen_stacks_find(s, &stack.key, 1, END_NS, &answer);
		if (!answer.known)
			seen_stacks_add(s, &stack, 1, END_NS);
	}
	return (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
}

static struct cost seen_table(uint32_t n)
{
	struct element *table = NULL;
	size_t before = allocated();
	uint64_t random = 1, start = clock_thread_cpu_ns();
	struct cost c;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t low = next_random(&random), high = next_random(&random);

		if (!find(table, low, high))
			add(&table, low, high, i);
	}
	c = (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
	free_all(&table);
	return c;
}

/* ---- id_set ---- */

static struct cost ids_special(uint32_t n)
{
	CLEANUP(id_set_freep) struct id_set *s = NULL;
	size_t before = allocated();
	uint64_t random = 1, start = clock_thread_cpu_ns();

	require(id_set_new(&s, n) == 0);
	for (uint32_t i = 0; i < 2 * n; i++)
		(void)id_set_add(s, (struct upload_id){next_random(&random), next_random(&random)});
	return (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
}

static struct cost ids_table(uint32_t n)
{
	struct element *table = NULL;
	size_t before = allocated();
	uint64_t random = 1, start = clock_thread_cpu_ns();
	struct cost c;

	for (uint32_t i = 0; i < 2 * n; i++) {
		uint64_t low = next_random(&random), high = next_random(&random);

		if (find(table, low, high))
			continue;
		if (i >= n) {
			struct element *oldest = table;

			HASH_DEL(table, oldest);
			table_free(oldest);
		}
		add(&table, low, high, i);
	}
	c = (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
	free_all(&table);
	return c;
}

/* ---- rounds ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void run(const char *name, uint32_t n, struct cost (*special)(uint32_t),
		struct cost (*table)(uint32_t))
{
	uint64_t ns[2][ROUNDS];
	size_t bytes[2] = {0};

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct cost s = special(n), t = table(n);

		ns[0][i] = s.ns;
		ns[1][i] = t.ns;
		bytes[0] = s.bytes;
		bytes[1] = t.bytes;
	}
	qsort(ns[0], ROUNDS, sizeof(ns[0][0]), compare);
	qsort(ns[1], ROUNDS, sizeof(ns[1][0]), compare);
	printf("%-24s %7u  special %6.1f ns %6.1f bytes  table %6.1f ns %6.1f bytes\n", name, n,
	       (double)ns[0][ROUNDS / 2] / n, (double)bytes[0] / n, (double)ns[1][ROUNDS / 2] / n,
	       (double)bytes[1] / n);
}

int main(void)
{
	run("hash_index", 500, index_special, index_table);
	run("hash_index", 20000, index_special, index_table);
	run("pair_table", 20000, pairs_special, pairs_table);
	run("pair_table", 200000, pairs_special, pairs_table);
	run("seen_stacks", 1u << 20, seen_special, seen_table);
	run("id_set", 1000000, ids_special, ids_table);
	return 0;
}
