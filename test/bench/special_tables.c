/*
 * What the special tables of the pprof decoder and the scraper save against
 * common/data/table.h.
 *
 * Each line compares two ways to do the same work, in turns; it prints the median CPU time in
 * ns per element of each, and the bytes per element that each allocates:
 *   merged_stacks     merging the samples of a profile (the whole of merged_stacks_make(), hashing
 *                     of stacks included) against only finding or adding the same hashes in a table
 *   pprof_ids         adding and finding ids: those that count from 1, as most senders send them,
 *                     and random ones
 *   profile_baseline  subtracting the previous values and keeping the new ones
 */
#include <malloc.h>

#include "cluster-agent/scrape/profile_baseline.h"
#include "common/data/table.h"
#include "common/limits.h"
#include "common/pprof/merged_stacks.h"
#include "common/pprof/pprof_ids.h"
#include "common/system/clock.h"

#define ROUNDS 31
#define FUNCTIONS 4000u
#define DEPTH 20u
#define COLUMNS 2u

struct cost {
	uint64_t ns;
	size_t bytes;
};

struct input {
	uint32_t n;
	struct arena arena; /* of p */
	struct profile p;
	struct merged_stacks merged;
	uint64_t *ids;
	struct profile_baseline baseline;
	struct element *elements; /* the baseline as a table */
};

struct element {
	UT_hash_handle hh;
	uint64_t key;
	uint64_t values[COLUMNS];
};

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

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

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ---- uthash ---- */

static struct element *add_element(struct element **table, uint64_t key)
{
	struct element *e = table_malloc(sizeof(*e));

	require(e);
	*e = (struct element){.key = key};
	HASH_ADD(hh, *table, key, sizeof(e->key), e);
	return e;
}

static struct element *find_element(struct element *table, uint64_t key)
{
	struct element *e;

	HASH_FIND(hh, table, &key, sizeof(key), e);
	return e;
}

static void free_elements(struct element **table)
{
	struct element *e, *next;

	HASH_ITER(hh, *table, e, next)
	{
		HASH_DEL(*table, e);
		table_free(e);
	}
}

/* ---- merged_stacks ---- */

static void make_profile(struct input *in)
{
	struct profile *p = &in->p;
	struct arena *a = &in->arena;

	arena_init(a, SIZE_MAX);
	*p = (struct profile){.arena = a, .n_functions = FUNCTIONS, .n_locations = FUNCTIONS};
	p->n_samples = in->n;
	p->functions = arena_calloc(a, FUNCTIONS, sizeof(*p->functions));
	p->locations = arena_calloc(a, FUNCTIONS, sizeof(*p->locations));
	p->samples = arena_calloc(a, in->n, sizeof(*p->samples));
	require(p->functions && p->locations && p->samples);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct profile_line *line = arena_calloc(a, 1, sizeof(*line));
		char *name = arena_calloc(a, 1, 64);

		require(line && name);
		snprintf(name, 64, "github.com/example/service/internal.(*Type%u).Method", i);
		p->functions[i].name = (struct profile_string){name, strlen(name)};
		p->functions[i].file = p->functions[i].name;
		*line = (struct profile_line){i, (int64_t)i};
		p->locations[i] = (struct profile_location){line, 1, i};
	}
	for (uint32_t i = 0; i < in->n; i++) {
		uint32_t *stack = arena_calloc(a, DEPTH, sizeof(*stack));
		int64_t *values = arena_calloc(a, COLUMNS, sizeof(*values));

		require(stack && values);
		for (uint32_t d = 0; d < DEPTH; d++)
			stack[d] = (uint32_t)(next_random() % FUNCTIONS);
		values[0] = (int64_t)(next_random() % 1000) + 1;
		values[1] = values[0] * 4096;
		p->samples[i] = (struct profile_sample){stack, DEPTH, values};
	}
}

static const uint32_t columns[COLUMNS] = {0, 1};

static struct cost merge_special(struct input *in)
{
	CLEANUP(arena_fini) struct arena scratch;
	struct merged_stacks m;
	uint64_t start;

	arena_init(&scratch, SIZE_MAX);
	in->p.arena = &scratch;
	start = cpu_ns();
	require(merged_stacks_make(&m, &in->p, columns, COLUMNS) == 0 && m.n == in->n);
	return (struct cost){cpu_ns() - start, scratch.used_bytes};
}

static struct cost merge_table(struct input *in)
{
	struct element *table = NULL;
	size_t before = allocated();
	uint64_t start = cpu_ns();
	struct cost c;

	for (uint32_t i = 0; i < in->n; i++)
		if (!find_element(table, in->merged.stacks[i].hash))
			add_element(&table, in->merged.stacks[i].hash);
	c = (struct cost){cpu_ns() - start, allocated() - before};
	free_elements(&table);
	return c;
}

/* ---- pprof_ids ---- */

static struct cost ids_special(struct input *in)
{
	CLEANUP(pprof_ids_fini) struct pprof_ids ids = {0};
	size_t before = allocated();
	uint64_t start = cpu_ns();
	uint32_t index;

	require(pprof_ids_init(&ids, "function", in->n) == 0);
	for (uint32_t i = 0; i < in->n; i++)
		pprof_ids_add(&ids, in->ids[i]);
	require(pprof_ids_sort(&ids, NULL) == 0);
	for (uint32_t i = 0; i < in->n; i++)
		require(pprof_ids_find(&ids, in->ids[i], &index, NULL) == 0 && index == i);
	return (struct cost){cpu_ns() - start, allocated() - before};
}

static struct cost ids_table(struct input *in)
{
	struct element *table = NULL;
	size_t before = allocated();
	uint64_t start = cpu_ns();
	struct cost c;

	for (uint32_t i = 0; i < in->n; i++)
		add_element(&table, in->ids[i])->values[0] = i;
	for (uint32_t i = 0; i < in->n; i++)
		require(find_element(table, in->ids[i])->values[0] == i);
	c = (struct cost){cpu_ns() - start, allocated() - before};
	free_elements(&table);
	return c;
}

/* ---- profile_baseline ---- */

static const struct cumulative_columns both = {columns, COLUMNS, 1};

static struct cost baseline_special(struct input *in)
{
	CLEANUP(arena_fini) struct arena scratch;
	struct profile_baseline next;
	enum baseline_outcome outcome;
	struct merged_stacks m;
	uint64_t start;

	arena_init(&scratch, SIZE_MAX);
	in->p.arena = &scratch;
	require(merged_stacks_make(&m, &in->p, columns, COLUMNS) == 0);
	start = cpu_ns();
	require(profile_baseline_subtract(&in->baseline, &m, &both, &scratch, &next, &outcome) ==
		0);
	require(profile_baseline_commit(&in->baseline, &next) == 0);
	return (struct cost){cpu_ns() - start, profile_baseline_bytes(&in->baseline)};
}

static struct cost baseline_table(struct input *in)
{
	CLEANUP(arena_fini) struct arena scratch;
	struct merged_stacks m;
	uint64_t start;
	size_t before = allocated();

	if (!in->elements)
		for (uint32_t i = 0; i < in->n; i++)
			add_element(&in->elements, in->merged.stacks[i].hash);
	before = allocated() - before;
	arena_init(&scratch, SIZE_MAX);
	in->p.arena = &scratch;
	require(merged_stacks_make(&m, &in->p, columns, COLUMNS) == 0);
	start = cpu_ns();
	for (uint32_t i = 0; i < m.n; i++) {
		struct element *e = find_element(in->elements, m.stacks[i].hash);
		int64_t *row = &m.values[(size_t)i * COLUMNS];

		for (uint32_t c = 0; c < COLUMNS; c++) {
			uint64_t previous = e->values[c];

			e->values[c] = (uint64_t)row[c];
			row[c] -= (int64_t)previous;
		}
	}
	return (struct cost){cpu_ns() - start, before};
}

/* ---- rounds ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void run(const char *name, struct input *in, struct cost (*special)(struct input *),
		struct cost (*table)(struct input *))
{
	uint64_t ns[2][ROUNDS];
	size_t bytes[2] = {0};

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct cost s = special(in), t = table(in);

		ns[0][i] = s.ns;
		ns[1][i] = t.ns;
		for (unsigned k = 0; k < 2; k++)
			if ((k ? t : s).bytes > bytes[k])
				bytes[k] = (k ? t : s).bytes;
	}
	qsort(ns[0], ROUNDS, sizeof(ns[0][0]), compare);
	qsort(ns[1], ROUNDS, sizeof(ns[1][0]), compare);
	printf("%-24s %7u  special %6.1f ns %6.1f bytes  table %6.1f ns %6.1f bytes\n", name, in->n,
	       (double)ns[0][ROUNDS / 2] / in->n, (double)bytes[0] / in->n,
	       (double)ns[1][ROUNDS / 2] / in->n, (double)bytes[1] / in->n);
}

static void run_all(uint32_t n)
{
	struct input in = {.n = n, .ids = calloc(n, sizeof(*in.ids))};
	CLEANUP(arena_fini) struct arena merged;

	require(in.ids);
	make_profile(&in);
	arena_init(&merged, SIZE_MAX);
	in.p.arena = &merged;
	require(merged_stacks_make(&in.merged, &in.p, columns, COLUMNS) == 0);
	run("merged_stacks", &in, merge_special, merge_table);
	for (uint32_t i = 0; i < n; i++)
		in.ids[i] = i + 1;
	run("pprof_ids, from 1", &in, ids_special, ids_table);
	for (uint32_t i = 0; i < n; i++)
		in.ids[i] = next_random();
	run("pprof_ids, random", &in, ids_special, ids_table);
	run("profile_baseline", &in, baseline_special, baseline_table);
	free_elements(&in.elements);
	profile_baseline_fini(&in.baseline);
	arena_fini(&in.arena);
	free(in.ids);
}

int main(void)
{
	run_all(500);
	run_all(5000);
	run_all(100000);
	return 0;
}
